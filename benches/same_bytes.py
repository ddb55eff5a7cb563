#!/usr/bin/env python3
"""Runs one script of commands with two `truerank` programs and says which files and outputs differ.

    python benches/same_bytes.py BEFORE AFTER [--python BEFORE_PY AFTER_PY] [--keep FOLDER] [--texts]

BEFORE and AFTER are binaries. Each runs every command of COMMANDS, then every call of WRONG, in a folder of its own with the same
inputs. Every file is compared byte for byte, every standard output, and every exit code. With --python, two interpreters
that each have a truerank installed run `same_bytes_calls.py`, and what it writes is compared in the same way.

The exit code is 1 if a file or an exit code differs or a file exists on one side only, and 0 if texts differ or nothing does.
Outputs on the terminal may differ, and so may error messages: they are listed. Of files of text it is said whether
numbers differ, too, or only words.

Seconds that programs print are replaced by `…` before outputs are compared; no file is changed or left out.
"""

import argparse
import concurrent.futures
import difflib
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent

EVENTS = "--event-column kind --click-event open --column session=who --column user="
NEWS = "--column session=userid+taskid --column query= --click-when 'dwell_time>0'"
SHOP = "--column session=user+page --column time=day"
UBI = "--ubi-queries queries.ndjson --ubi-events ubi.ndjson"
TRUTH = "--propensities clicks.propensities.json"

COMMANDS = f"""
generate --preset tiny -o data
generate --preset tiny --format parquet --seed 2 -o parquet

simulate data --sessions 6000 --swap 0.3 -o clicks.parquet
simulate data --sessions 6000 --users 5 --shuffle 0.1 --zipf 1 --seed 2 -o clicks.csv.gz
simulate data --sessions 1000 --etas 0.5,1,2 --users-per-cluster 4 --user-noise 0.1 --length 5 --shared-queries -o few.tsv
simulate data --sessions 2000 --click-noise 0.2 --production-share 0.2 -o plain.csv.zst --json
simulate data --sessions 100000000 --cells -o cells

convert data/train.txt -o converted.parquet
convert parquet/train.parquet -o converted.txt.gz
convert zero.txt --zero-based --features 12 --max-grade 2 -o converted.txt

count clicks.parquet --patterns -o counts
count clicks.csv.gz --json -o from-csv
count few.tsv -o from-tsv
count plain.csv.zst --memory 1MiB --threads 1 -o from-zst
count shop.tsv {SHOP} --from 2024-03-03 --until 2024-03-25 -o by-time
count shop.jsonl {SHOP} -o from-jsonl
count shop.json {SHOP} --json -o from-json
count 'parts/*.csv' -o two-files
count news.csv {NEWS} -o from-news
count bare.csv --no-header --column session=1 --column user=2 --column query=3 --column doc=4 --column position=5 --column click=6 -o bare
count bare.csv --header s,u,q,d,p,c --column session=s --column user=u --column query=q --column doc=d --column position=p --column click=c -o named
count pages.csv --list-separator | --clicks docs -o from-pages
count pages.jsonl --clicks flags -o from-json-pages
count events.csv {EVENTS} -o from-events
count train.yandex --format yandex -o from-yandex
count {UBI} --json -o from-ubi
count {UBI} --ubi-depth 2 --ubi-click click -o shallow-ubi
count bad.csv --on-bad-row skip -o skipped
count bad.csv --on-bad-row quarantine --quarantine bad-rows.txt -o quarantined
count - --format tsv < few.tsv -o from-input

sql
sql --dialect duckdb --log logs.clicks --column user=client_id --column session=user+task
sql --dialect bigquery --column user= --click-when 'dwell_time>0'

propensity counts --data data --resamples 3 -o em.json
propensity counts --data data --per-user --resamples 2 --against clicks.propensities.json --json -o users.json
propensity counts --data data --per-user --shrink none --relevance mlp:8 --prior none --iterations 5 --resamples 0 -o mlp-em.json
propensity counts --per-user --shrink population --relevance table --resamples 2 --seed 3 -o population.json
propensity counts --data data --per-user --clusters 3 --grouping k-means --resamples 0 --memory 1MiB -o k-means.json
propensity counts --method swap --per-user --resamples 3 -o swap.json
propensity counts --method harvesting --per-user --weighting documents -o harvesting.json
propensity counts --method cpbm --iterations 30 --resamples 2 -o cpbm.json
propensity counts --method cpbm --user-features users.csv --iterations 30 --resamples 0 -o cpbm-features.json
propensity counts --method user-pbm --data data --per-user --iterations 3 -o user-pbm.json
propensity counts --method dla --data data --per-user --iterations 20 --ranker dla.safetensors -o dla.json
propensity counts --method dla --data data --model mlp:8 --iterations 10 --seed 2 --ranker dla-mlp.safetensors -o dla-mlp.json

relevance counts {TRUTH} -o default.parquet
relevance counts {TRUTH} --estimator all -o weights
relevance counts {TRUTH} --estimator all --memory 1MiB -o weights-from-disk
relevance counts {TRUTH} --estimator user-aware-smoothed --beta likelihood --prior mean --shrink 3 --diagnostics -o mean.parquet
relevance counts {TRUTH} --estimator user-aware-smoothed --beta 2 --prior position --clip 0.05 --json -o position.parquet
relevance counts {TRUTH} --data data -o model.parquet
relevance counts {TRUTH} --data data --prior model --prior-model mlp:8 --shrink auto --seed 2 -o mlp-prior.parquet
relevance counts --propensities users.json --estimator user-aware --prior none --shrink none -o estimated.parquet

train data --relevance default.parquet --model linear -o linear.safetensors
train data --relevance default.parquet --model mlp --steps 10 --json -o mlp.safetensors
train data --relevance default.parquet --model mlp:16,8 --steps 20 --scaling standard --patience 2 --check-every 5 --validation ERR@3 -o scaled.safetensors
train data --relevance weights/naive.parquet --model linear-raw --l2 0.01 -o raw.safetensors
train data --model mlp:8 --optimizer adam --learning-rate 0.1 --batch 16 --clip 1 --steps 15 --seed 2 -o grades.safetensors
train data --model linear --optimizer sgd --steps 15 -o sgd.safetensors
train data --model svm-rank --share 0.5 --cost 2 -o svm.safetensors
train data --pairs counts {TRUTH} --model linear --steps 20 -o prs.safetensors
train data --pairs counts {TRUTH} --model mlp:8 --pair-weights prs-by-score --steps 10 -o by-score.safetensors
simulate data --sessions 2000 --logger linear.safetensors --logger svm.safetensors -o two-rankers.csv

evaluate data/test.txt --ranker linear.safetensors
evaluate data/test.txt --ranker linear.safetensors --against mlp.safetensors --measure nDCG@10 --measure MAP --measure MRR --measure P@3 --measure ARP --empty skip --json --per-query
evaluate data/train.txt --ranker linear.safetensors --clicks from-csv --propensities clicks.propensities.json --json
evaluate data/train.txt --ranker linear.safetensors --against svm.safetensors --clicks counts {TRUTH} --estimator user-aware --clip 0.1 --self-normalised --train-counts counts --allow-shared-queries --json
predict-clicks counts {TRUTH} --relevance default.parquet --resamples 50
predict-clicks from-csv --propensities em.json --relevance mean.parquet --train-counts counts --resamples 50 --seed 2 --json
score data/test.txt --ranker mlp.safetensors -o run.trec
score data/test.txt --ranker scaled.safetensors --tag mine -o run.parquet

export mlp.safetensors --to onnx -o mlp.onnx
export raw.safetensors --to onnx -o raw.onnx
export raw.safetensors --to elasticsearch --feature-names names.txt --name mine -o elasticsearch.json
export svm.safetensors --to elasticsearch -o svm.json
export default.parquet --to lightgbm --data data -o lightgbm
export default.parquet --to lightgbm --labels steps --steps 4 --click-noise 0.1 --data data -o lightgbm-steps
export default.parquet --to xgboost --labels gains --data data -o xgboost
export default.parquet --to csv -o labels.csv

doctor clicks.parquet --data data --permutations 99 -o doctor
doctor counts --permutations 99 --level 0.05 --seed 2 --json
doctor shop.tsv {SHOP} --feature score --feature price --permutations 49 --json
doctor {UBI} --permutations 49

fit clicks.parquet --data data --steps 20 -o fit --json
fit shop.tsv {SHOP} --feature score --feature price --grade saved --model linear -o fit-columns
fit shop.tsv {SHOP} --split time --held-out 0.3 -o fit-time
fit events.csv {EVENTS} -o fit-events --json
fit clicks.parquet --data data {TRUTH} --split page --estimator straightforward --model mlp:8 --steps 10 --scaling paper -o fit-given

experiment rq1 --preset tiny --sessions 2000 --seeds 2 --model linear -o experiment
experiment rq2 rq3 --preset tiny --sessions 2000 --sizes 500,2000 --seeds 1 --model linear -o more --json
report experiment -o drawn --json
demo --preset tiny --model linear --sessions 2000 -o demo.html
completions bash
"""

# Calls that must be refused: what is typed wrong, what does not go together, what is not there, and what is in the files.
WRONG = f"""
count -o out
count nowhere.csv -o out
count bad.csv -o out
count clicks.parquet --column customer=who -o out
count clicks.parquet --column user=who -o out
count news.csv --click-when dwell_time=>3 -o out
count clicks.parquet --from yesterday -o out
count clicks.parquet --memory much -o out
count train.yandex --format yandex --event-column kind -o out
count few.tsv --on-bad-row ignore -o out
propensity counts --method magic -o out.json
propensity counts --method swap --relevance mlp -o out.json
propensity counts --method dla -o out.json
propensity counts --clusters 3 -o out.json
propensity counts --per-user --shrink none --clusters 3 -o out.json
propensity counts --tolerance -1 -o out.json
propensity data -o out.json
propensity counts --method em --ranker out.safetensors -o out.json
relevance counts {TRUTH} --estimator best -o out.parquet
relevance counts {TRUTH} --prior model -o out.parquet
relevance counts {TRUTH} --estimator naive --shrink auto -o out.parquet
relevance counts {TRUTH} --clip 2 -o out.parquet
relevance counts --propensities default.parquet -o out.parquet
train data --model tree -o out.safetensors
train data --model mlp --share 0.5 -o out.safetensors
train data --model svm-rank --relevance default.parquet -o out.safetensors
train data --relevance default.parquet --batch 0 -o out.safetensors
train data --relevance default.parquet --learning-rate -1 -o out.safetensors
train data --pairs from-csv {TRUTH} -o out.safetensors
train data --relevance default.parquet --pairs counts -o out.safetensors
evaluate data/test.txt --ranker linear.safetensors --measure precision
evaluate data/test.txt --ranker linear.safetensors --clicks counts
evaluate data/test.txt --ranker linear.safetensors --estimator naive
export mlp.safetensors --to elasticsearch -o out.json
export default.parquet --to lightgbm -o out
export default.parquet --to lightgbm --labels weights --steps 3 --data data -o out
fit shop.tsv {SHOP} --data data --feature score -o out
fit shop.tsv {SHOP} --held-out 1 --feature score -o out
fit shop.tsv {SHOP} --grade saved -o out
doctor counts --permutations 0
simulate data --users 7 -o out.csv
simulate data --users 5 --etas 1,2 -o out.csv
simulate data --swap 2 -o out.csv
experiment rq9 -o out
experiment rq1 --preset tiny --seeds 0 -o out
generate --preset huge -o out
sql --dialect oracle
score data/test.txt --ranker nowhere.safetensors -o run.txt
"""

# Features of `generate --preset tiny`.
TINY_FEATURES = 20

SECONDS = re.compile(r"\b\d+(\.\d+)? (s\b|seconds?\b|ms\b)")
NUMBER = re.compile(r"(?<![\w.])[-+]?\.?\d[\d.,]*(?:e[-+]?\d+)?")


def chance(seed):
    """A number from 0 to 1 that looks random, the same on every machine."""
    mixed = ((seed + 1) * 0x9E3779B97F4A7C15) % 2**64
    mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) % 2**64
    return (mixed >> 40) / 2**24


def shop_rows():
    """Result pages of a shop with documents that move, two features, a grade and a day."""
    for page in range(600):
        query = page % 25
        for place in range(6):
            doc = query * 10 + (place + page // 25) % 8
            click = chance(page * 6 + place) < (0.1 + 0.1 * (doc % 8)) / (1 + place * (0.2 + 0.1 * (page % 7)))
            yield {
                "user": f"u{page % 7}", "page": page, "query": f"shoes {query}", "doc": f"d{doc}", "position": place + 1,
                "click": int(click), "day": f"2024-03-{1 + page // 20:02}", "score": 0.5 * (doc % 8) + query % 3,
                "price": 100 - doc % 13, "saved": doc % 5,
            }


def news():
    """Articles on pages without a query: opened ones have a time that someone dwelt on them."""
    yield "userid,newsid,taskid,position,dwell_time"
    for page in range(300):
        for place in range(5):
            doc = (page * 7 + place * 5 + page // 30) % 30
            opened = chance(page * 5 + place) < (0.2 + 0.02 * doc) / (1 + 0.4 * place)
            yield f"{page % 16},{doc},{page // 16},{place + 1},{5 + page % 40 if opened else ''}"


def pages():
    """Pages with their documents and those that were clicked."""
    for page in range(200):
        query = page % 10
        docs = [query * 10 + (place + page // 10) % 5 for place in range(5)]
        clicked = [doc for place, doc in enumerate(docs) if chance(page * 9 + place) < (0.3 + 0.1 * (doc % 5)) / (1 + place)]
        yield page, f"u{page % 4}", query, docs, clicked


def events():
    """The same pages as events: one shows documents, others open one of them."""
    for page, _, query, docs, clicked in pages():
        yield f"search,{page},{query},{'|'.join(map(str, docs))},,{page * 10}"
        for number, doc in enumerate(clicked):
            yield f"open,{page},,,{doc},{page * 10 + number + 1}"


def yandex():
    """The same pages in the form of Yandex's challenge."""
    for page, _, query, docs, clicked in pages():
        yield "\t".join(map(str, [page, 0, "Q", query, 0, *docs]))
        yield from (f"{page}\t{number + 1}\tC\t{doc}" for number, doc in enumerate(clicked))


def ubi_queries():
    for page, user, query, docs, _ in pages():
        found = [f"d{doc}" for doc in docs]
        yield json.dumps({"query_id": f"q{page}", "user_query": f"red shoes {query}", "client_id": user, "query_response_hit_ids": found})


def ubi_events():
    for page, user, _, docs, clicked in pages():
        for doc in clicked:
            place = {"object": {"object_id": f"d{doc}"}, "position": {"ordinal": docs.index(doc) + 1}}
            yield json.dumps({"action_name": "click", "query_id": f"q{page}", "client_id": user, "event_attributes": place})


def bare_rows():
    for page, user, query, docs, clicked in pages():
        yield from (f"{page},{user},{query},{doc},{place + 1},{int(doc in clicked)}" for place, doc in enumerate(docs))


def part(number):
    """One of two files of the same log."""
    header = "session,user,query,doc,position,click"
    return lines([header, *(row for row in bare_rows() if int(row.split(",")[0]) % 2 == number)])


def bad_rows():
    """A log in which some rows break a rule."""
    yield "session,user,query,doc,position,click"
    for number, row in enumerate(bare_rows()):
        yield row if number % 97 else row.rsplit(",", 2)[0] + (",0,1" if number % 2 else ",first,1")


def lines(rows):
    return "\n".join(rows) + "\n"


def write_inputs(folder):
    """Small logs in every form that people have, the same on every machine."""
    shop = list(shop_rows())
    user_features = [f"{user},{chance(user):.3f},{user % 3}" for user in range(12)]
    zero = (f"{doc % 3} qid:{1 + doc // 5} 0:{chance(doc):.4f} {1 + doc % 9}:{doc / 8}" for doc in range(40))
    inputs = {
        "shop.tsv": lines(["\t".join(shop[0])] + ["\t".join(map(str, row.values())) for row in shop]),
        "shop.jsonl": lines(map(json.dumps, shop)),
        "shop.json": json.dumps(shop, indent=1),
        "news.csv": lines(news()),
        "pages.csv": lines(["session,user,query,docs,clicks"] + [
            f"{page},{user},{query},{'|'.join(map(str, docs))},{'|'.join(map(str, clicked))}" for page, user, query, docs, clicked in pages()
        ]),
        "pages.jsonl": lines(
            json.dumps({"session": page, "user": user, "query": query, "docs": docs, "clicks": [int(doc in clicked) for doc in docs]})
            for page, user, query, docs, clicked in pages()
        ),
        "events.csv": lines(["kind,who,query,docs,doc,time", *events()]),
        "train.yandex": lines(yandex()),
        "queries.ndjson": lines(ubi_queries()),
        "ubi.ndjson": lines(ubi_events()),
        "bare.csv": lines(bare_rows()),
        "bad.csv": lines(bad_rows()),
        "parts/a.csv": part(0),
        "parts/b.csv": part(1),
        "names.txt": lines(f"feature_{index + 1}" for index in range(TINY_FEATURES)),
        "users.csv": lines(["user,age,region", *user_features]),
        "zero.txt": lines(zero),
    }
    (folder / "parts").mkdir()
    for name, content in inputs.items():
        (folder / name).write_text(content)


def script(text):
    return [line for line in text.splitlines() if line]


def run_command(program, folder, line):
    """Runs a line of the script; `< FILE` in it is what it reads from standard input."""
    words = shlex.split(line)
    source = subprocess.DEVNULL
    if "<" in words:
        place = words.index("<")
        source = (folder / words[place + 1]).open("rb")
        del words[place : place + 2]
    # Usage lines show the name that a program was called by.
    command = ["truerank", *words, "--quiet"]
    done = subprocess.run(command, executable=program, cwd=folder, stdin=source, capture_output=True)
    text = {name: SECONDS.sub("… s", getattr(done, name).decode(errors="replace")) for name in ("stdout", "stderr")}
    return {"exit code": done.returncode, **text}


def run_script(program, folder):
    """Every command and every wrong call with what they said."""
    folder.mkdir(parents=True)
    write_inputs(folder)
    said = {}
    for line in script(COMMANDS) + script(WRONG):
        said[line] = run_command(program, folder, line)
    return said


def run_calls(interpreter, folder):
    """The calls of the Python package; what they said is in the folder."""
    folder.mkdir(parents=True)
    write_inputs(folder)
    done = subprocess.run([interpreter, HERE / "same_bytes_calls.py"], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{interpreter} same_bytes_calls.py failed:\n{done.stderr}")
    return json.loads(done.stdout)


def both(work, programs, folders):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, programs, folders))


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def kind_of_difference(before, after):
    """Where two files part, and of texts whether it is only words."""
    first = next((at for at, (a, b) in enumerate(zip(before, after)) if a != b), min(len(before), len(after)))
    try:
        texts = [content.decode() for content in (before, after)]
    except UnicodeDecodeError:
        return f"bytes, from byte {first} on ({len(before)} and {len(after)} bytes)"
    numbers = [NUMBER.findall(text) for text in texts]
    what = "words only" if numbers[0] == numbers[1] else "words or numbers"
    return f"{what}, from line {before[:first].count(10) + 1} on"


def compare_files(before, after):
    """Rows of a table: file and how it differs."""
    ours, theirs = files_of(before), files_of(after)
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in theirs or name not in ours:
            yield name, "only " + ("before" if name in ours else "after")
            continue
        contents = [side[name].read_bytes() for side in (ours, theirs)]
        if contents[0] != contents[1]:
            yield name, kind_of_difference(*contents)


def compare_said(before, after):
    """Rows of a table: call, what of it differs, and both sides."""
    for line in before.keys() | after.keys():
        for what in before.get(line, after.get(line)).keys():
            sides = [side.get(line, {}).get(what) for side in (before, after)]
            if sides[0] != sides[1]:
                yield line, what, sides


def print_said(rows, texts):
    for line, what, sides in rows:
        print(f"\n  {line}\n    {what}:")
        if not isinstance(sides[0], str) or not isinstance(sides[1], str):
            print(f"      before: {sides[0]}\n      after:  {sides[1]}")
            continue
        found = list(difflib.unified_diff(sides[0].splitlines(), sides[1].splitlines(), lineterm="", n=0))[2:]
        found = [f"      {row}" for row in found if not row.startswith("@@")]
        print("\n".join(found if texts else found[:6]))
        if len(found) > 6 and not texts:
            print(f"      … {len(found) - 6} more lines (--texts shows all)")


def compare(title, said, folders, texts):
    """Prints what differs; returns whether it is more than texts."""
    refused = [line for line in said[0] if said[0][line]["exit code"] not in (0, None)]
    files = list(compare_files(*folders))
    rows = sorted(compare_said(*said))
    codes = [row for row in rows if row[1] == "exit code"]
    print(f"\n{title}: {len(said[0])} calls, {len(refused)} of them refused before; {len(files_of(folders[0]))} files")
    print(f"  files that differ: {len(files)}; exit codes: {len(codes)}; texts: {len(rows) - len(codes)}")
    width = max((len(name) for name, _ in files), default=0)
    for name, how in files:
        print(f"    {name:<{width}}  {how}")
    print_said(rows, texts)
    return bool(files or codes)


def check_script(said):
    """What is meant to work must have worked before, and what is meant to be refused must have been."""
    commands = set(script(COMMANDS))
    for line, outcome in said.items():
        expected = line in commands
        # `doctor` says by 1 that a log is not fit.
        worked = outcome["exit code"] in ((0, 1) if line.startswith("doctor") else (0,))
        if worked != expected:
            print(f"  note: `{line}` ended with {outcome['exit code']} before: {outcome['stderr'].strip()}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs=2, metavar="PROGRAM", help="the binaries, before and after")
    parser.add_argument("--python", nargs=2, metavar="INTERPRETER", help="interpreters with a truerank each, before and after")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="keep all files there")
    parser.add_argument("--texts", action="store_true", help="show whole differences of texts")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    begin = time.monotonic()
    place = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="same-bytes-"))
    differs = False
    try:
        programs = [str(pathlib.Path(program).resolve()) for program in arguments.programs]
        folders = [place / "before", place / "after"]
        said = both(run_script, programs, folders)
        check_script(said[0])
        differs |= compare("Command line", said, folders, arguments.texts)
        if arguments.python:
            # Not resolved: an interpreter of a virtual environment is a link.
            interpreters = [str(pathlib.Path(program).absolute()) for program in arguments.python]
            folders = [place / "before-python", place / "after-python"]
            differs |= compare("Python", both(run_calls, interpreters, folders), folders, arguments.texts)
    finally:
        if not arguments.keep:
            shutil.rmtree(place)
    print(f"\n{'DIFFERENT' if differs else 'same bytes'} ({time.monotonic() - begin:.0f} s)")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
