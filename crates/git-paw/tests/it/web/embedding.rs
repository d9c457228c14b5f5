//! A page of another origin that embeds ours, to make a person click what they do not see.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::json;

use super::WebWorld;
use super::browser::{Browser, Hand};
use super::client::Client;

/// A server as an agent may start one: another port of the same machine, the same document for every request. Returns its address.
fn serve(document: impl Into<String>) -> String {
    let document = document.into();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{document}",
                document.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn page_of_another_origin_cannot_show_or_use_ours_in_a_frame() {
    let world = WebWorld::started("");
    let Some(browser) = Browser::start(&world.sandbox, Hand::Pointer) else { return };
    let link = world.link(&[]);
    let (url, code) = (link["link"].as_str().unwrap(), link["code"].as_str().unwrap());
    let harmless = serve("<body><main>embedded and usable</main></body>");
    // Ours is embedded with a valid code, and without; the last frame shows what a page that allows it looks like.
    let bare = url.split('#').next().unwrap();
    let frames = format!(
        "<body><iframe src=\"{url}\"></iframe><iframe src=\"{bare}\"></iframe><object data=\"{bare}\">no object</object>\
         <iframe src=\"{harmless}\"></iframe></body>"
    );
    browser.open(&serve(frames));
    browser.wait_for("no object");
    let shown = "return [document.querySelector('main')?.innerText ?? null, location.protocol]";
    assert_eq!(browser.script_in_frame(2, shown), json!(["embedded and usable", "http:"]));
    for frame in 0..2 {
        // The browser puts an error of its own there.
        assert_eq!(browser.script_in_frame(frame, shown), json!([null, "chrome-error:"]), "frame {frame}");
    }
    // The script of the page never ran: its code is still valid.
    Client::of_link(url).log_in(code);
    // Nor may another page read it, or ask it for something with what the browser adds.
    let script = "const done = arguments[arguments.length - 1], [base] = arguments;
        const ask = (path, options) => fetch(base + path, options).then((answer) => answer.type, (error) => error.name);
        Promise.all([ask(''), ask('api/events'), ask('api/merge', { method: 'POST', body: '{}' })]).then(done);";
    let read = browser.script_async(script, &[bare.into()]);
    assert_eq!(read, json!(["TypeError", "TypeError", "TypeError"]));
    // As a document of its own it is there, so the address was right.
    browser.open(bare);
    browser.wait_for("Run git paw web");
}
