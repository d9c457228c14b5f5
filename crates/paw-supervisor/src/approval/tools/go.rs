//! go: building, testing and inspecting. Options that run another program (`-exec`, `-toolexec`, `-vettool`) are not listed.

use super::{AllowedCall, local, network, writes};

macro_rules! build {
    ($more:literal) => {
        concat!("-v -x -n -a -race -cover -trimpath -p=NUM -tags=NAME -mod=readonly|vendor ", $more)
    };
}

pub(super) const CALLS: &[AllowedCall] = &[
    local("go build", build!("-o=PATH PATH...")),
    local(
        "go test",
        build!(
            "-run=TEXT -skip=TEXT -bench=TEXT -benchmem -benchtime=NAME -count=NUM -short -failfast -timeout=NAME -json \
             -list=TEXT -covermode=set|count|atomic -coverprofile=PATH -coverpkg=NAME -cpu=NAME -parallel=NUM \
             -shuffle=NAME -fuzztime=NAME -c PATH..."
        ),
    ),
    local("go vet", build!("-json PATH...")),
    local("go fmt", "-n -x PATH..."),
    local("gofmt", "-l -d -s -e PATH..."),
    writes("gofmt -w", "-s -l PATH..."),
    local("go list", "-json -m -deps -test -e -f=TEXT PATH..."),
    local("go doc", "-all -short -src -u NAME..."),
    local("go version", ""),
    local("go env", "GOPATH|GOROOT|GOOS|GOARCH|GOMOD|GOVERSION..."),
    local("go mod graph", ""),
    local("go mod verify", ""),
    local("go mod why", "-m NAME..."),
    network("go mod download", "-x"),
    network("go mod tidy", "-v -x"),
    local("golangci-lint run", "-v --timeout=NAME --fast --color=NAME PATH..."),
    local("staticcheck", "-version PATH..."),
];
