"""Documents: what is filled into a page is text, and Markdown brings no markup of its own."""

from __future__ import annotations

import jinja2
import pytest
from markupsafe import Markup

from abcdp_core.publish.output import documents

FOREIGN = '<img src=x onerror="alert(1)">'


def test_what_is_filled_into_a_page_is_text_unless_it_is_markup_and_never_missing() -> None:
    page = documents.render("claims.html", title=FOREIGN, body=Markup("<p>ours</p>"))
    assert "<title>&lt;img src=x onerror=&#34;alert(1)&#34;&gt;</title>" in page
    assert "<p>ours</p>" in page
    with pytest.raises(jinja2.UndefinedError, match="title"):
        documents.render("page.html")


def test_markdown_is_converted_and_markup_in_it_is_text() -> None:
    text = f"One *two* **three** `four` {FOREIGN}\n\n- five\n\n| a |\n| --- |\n| 1 \\| 2 |\n"
    found = documents.markdown(text)
    assert "<em>two</em> <strong>three</strong> <code>four</code> &lt;img" in found
    assert '<div class="wide" tabindex="0"><table>' in found
    assert "<td>1 | 2</td>" in found
    assert "<img" not in found
    assert "<a" not in documents.markdown("[a](javascript:alert)")
    assert documents.inline_markdown("*x*\n<b>") == "<em>x</em>\n&lt;b&gt;"
