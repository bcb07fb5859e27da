"""Settings of the documentation: `make docs`."""

import os
import re
import sys
from pathlib import Path

# Before NumPy is loaded: threads of examples as small as those of the pages wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import dircal
from dircal import calibrators
from dircal.metrics import RECORDS

sys.path.insert(0, str(Path(__file__).parent))
from page_figures import draw_all

project = "dircal"
author = "The dircal developers"
release = dircal.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
# Calibrators are listed as their room does, and measures by their records: the API includes what
# is written here.
LISTED = {
    "calibrators.rst": ("dircal", sorted(calibrators.__all__)),
    "measures.rst": ("dircal.metrics", sorted(RECORDS, key=lambda name: RECORDS[name].place)),
}
for file, (module, names) in LISTED.items():
    head = f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: api/generated\n\n"
    text = head + "".join(f"   {name}\n" for name in names)
    Path(__file__).with_name(file).write_text(text, encoding="utf-8")
autosummary_generate = ["api.md", *LISTED]
exclude_patterns = ["_build", "_templates", *LISTED]
templates_path = ["_templates"]
# Single backticks in docstrings: a link where the name is known, plain code elsewhere.
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Methods are listed by _templates/autosummary/class.rst, once for all classes.
numpydoc_show_class_members = False
autodoc_typehints = "none"

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "dircal"
html_static_path = ["_static"]
html_css_files = ["dircal.css"]
html_math_renderer = "mathml"
html_show_copyright = False
html_show_sourcelink = False
html_theme_options = {
    "article_footer_items": [],
    # Six entries: the bar stays one line.
    "header_links_before_dropdown": 6,
    "footer_end": [],
    "footer_start": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
}
html_sidebars = {
    page: []
    for page in (
        "index",
        "how_to_choose",
    )
}


THIN = '<mspace width="0.17em"/>'
ACCENTED = r"<munderover>\s*(<mi>\w</mi>)(.*?)(<mo[^>]*>[ˉˆ~]</mo>)\s*</munderover>"


def visit_formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers draw by themselves, also without a network."""
    block = isinstance(node, nodes.math_block)
    # In TeX \frac12 is one half; the converter makes it twelve over what follows.
    tex = re.sub(r"(\\[td]?frac)(\d)(\d)", r"\1{\2}{\3}", node.astext())
    # Dots on the line; the converter knows only the name that says so.
    tex = tex.replace(r"\dots", r"\ldots")
    formula = tex2mathml(tex, as_block=block)
    # TeX sets a thin space on both sides of "ln" and its like; the converter sets none.
    formula = re.sub(r"(<mi>\w+</mi>\s*<mo>&ApplyFunction;</mo>)", rf"{THIN}\1{THIN}", formula)
    # The index of an accented letter stands beside it; the converter sets it below.
    formula = re.sub(ACCENTED, r"<msub><mover>\1\3</mover>\2</msub>", formula, flags=re.DOTALL)
    translator.body.append(f'<div class="formula">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Draw the figures, and make the renderer of formulas known."""
    app.connect("builder-inited", lambda app: draw_all(Path(app.srcdir)))
    app.add_html_math_renderer("mathml", (visit_formula, None), (visit_formula, None))
