"""For the site of the documentation: links to files outside of docs/ lead to the repository, if the file is there."""

import pathlib
import re

REPOSITORY = "https://truerank.example/truerank"
ROOT = pathlib.Path(__file__).resolve().parent.parent


def on_page_markdown(markdown, page, **_):
    def outward(link):
        path = link[1]
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"docs/{page.file.src_uri} links to ../{path}, which is not there")
        return f"]({REPOSITORY}/{path}{link[2] or ''})"

    return re.sub(r"\]\(\.\./([^)#]+)(#[^)]*)?\)", outward, markdown)
