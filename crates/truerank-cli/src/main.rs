//! The `truerank` binary: the command line with an allocator that says when memory ends.

mod allocator;

fn main() -> std::process::ExitCode {
    truerank_cli::run(std::env::args_os())
}
