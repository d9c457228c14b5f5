//! The watcher at the limits of the machine.

use std::time::Duration;

use paw_broker::Message;
use paw_broker::watch::WatchReport;
use paw_testkit::wait_until;

use super::Watched;

#[test]
fn watcher_polls_if_it_has_no_watches_left_and_reports_it() {
    let watched = Watched::new(|settings| {
        settings.max_watches = 8;
        settings.poll_every = Duration::from_millis(200);
    });
    for number in 0..10 {
        watched.write(&format!("dir{number}/file"), "x");
    }
    let mut reported = (false, false);
    wait_until("polling is reported", || {
        match watched.reports.try_recv().ok()? {
            WatchReport::Notice { text, .. } => reported.0 |= text.contains("instead of watched"),
            WatchReport::Status(Message::Status(status)) => {
                reported.1 |= status.message.is_some_and(|message| message.contains("scanned every"));
            }
            _ => {}
        }
        (reported == (true, true)).then_some(())
    });
    watched.write("late/file", "x");
    wait_until("a poll reports the file", || {
        let files = super::status_files(&watched.reports.try_recv().ok()?)?;
        files.contains(&"late/file".to_owned()).then_some(())
    });
}

#[test]
fn watcher_replaces_its_scratch_repository_when_it_grows() {
    let watched = Watched::new(|settings| settings.max_scratch_bytes = 100);
    for round in 0..3 {
        let name = format!("file{round}");
        watched.write(&name, &"x".repeat(200));
        wait_until("the file is reported", || {
            let files = super::status_files(&watched.reports.try_recv().ok()?)?;
            files.contains(&name).then_some(())
        });
    }
    let scratch = watched.sandbox.root().join("scratch");
    let count = || {
        std::fs::read_dir(&scratch).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count()
    };
    wait_until("the old copies are gone", || {
        while watched.reports.try_recv().is_ok() {}
        (count() <= 1).then_some(())
    });
}
