# The `truerank` command in a small image: docker build -t truerank . && docker run --rm -v "$PWD:/data" truerank doctor clicks.csv
FROM rust:1-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p truerank-cli

FROM debian:bookworm-slim
COPY --from=build /source/target/release/truerank /usr/local/bin/truerank
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/truerank/
# Not as root: what it writes belongs to whoever runs it with `--user`.
RUN useradd --create-home truerank
USER truerank
WORKDIR /data
ENTRYPOINT ["truerank"]
