"""Slides and questions: what an instructor makes from the lessons."""

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

import minispec.theory
from minispec.cli import lessons as command
from minispec.course.teaching import find, quiz, slides
from minispec.course.teaching.find import ROOTS, lessons
from minispec.errors import OptionError

QUESTIONS = quiz.read_quiz(ROOTS[0])
BY_HAND = {2: 7, 4: 11}  # lesson: the question whose number is counted, not computed


def test_every_lesson_is_asked_about_and_no_question_twice():
    assert len(QUESTIONS) >= 40
    asked = {question.lesson for question in QUESTIONS}
    assert asked <= {int(files.number) for files in lessons()}
    assert asked >= set(range(1, 16))
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text[:30])
def test_an_answer_is_one_of_four_or_what_its_formula_gives(question):
    assert question.because
    if question.choices:
        assert len(set(question.choices)) == 4
    elif question.formula:
        names = {name: getattr(minispec.theory, name) for name in minispec.theory.__all__}
        found = eval(question.formula, names)
        assert abs(found - question.number) <= question.tolerance + 1e-9
    else:
        assert QUESTIONS.index(question) + 1 == BY_HAND[question.lesson]


def test_moodle_gets_one_right_answer_for_each_question():
    questions = re.split(r"(?m)^::", quiz.write_gift(QUESTIONS))[1:]
    assert len(questions) == len(QUESTIONS)
    for text, question in zip(questions, QUESTIONS, strict=True):
        right = [line[1:].replace("\\", "") for line in re.split(r"\n\t?", text) if line.startswith("=")]
        assert right == list(question.choices[:1])
        assert text.count("\n\t~") == (3 if question.choices else 0)
        assert text.count("\n\t#") == (2 if not question.choices else 1)
    places = {[line[0] for line in text.split("\n\t")].index("=") for text in questions if "\n\t=" in text}
    assert len(places) == 4


@pytest.mark.parametrize(
    ("number", "tolerance", "moodle", "canvas"),
    [
        (3.4, 0, "#3.4", "= 3.4 +- 0"),
        (49, 0, "#49", "= 49"),
        (0.85, 0.001, "#0.85:0.001", "= 0.85 +- 0.001"),
        (3145728, 2, "#3145728:2", "= 3145728 +- 2"),
    ],
)
def test_platforms_get_a_number_as_it_is(number, tolerance, moodle, canvas):
    question = quiz.Question(1, "How many?", "So many.", number=number, tolerance=tolerance)
    assert f"\t{moodle}\n" in quiz.write_gift([question])
    assert quiz.write_text2qti([question]).endswith(f"\n{canvas}\n")


def test_an_installed_package_holds_no_answers(tmp_path):
    with pytest.raises(OptionError, match="no quiz"):
        quiz.read_quiz(tmp_path)


def test_an_installed_package_takes_answers_from_the_clone_it_is_called_in(tmp_path, monkeypatch):
    monkeypatch.setattr(find, "ROOTS", (tmp_path / "none", ROOTS[0]))  # the second stands for what is in a wheel
    monkeypatch.setattr(command, "find", lambda number: replace(find.find(number), root=tmp_path / "none"))
    monkeypatch.setattr(command, "make_slides", str)

    def call(*arguments):
        return CliRunner().invoke(command.lessons, [*arguments, "-o", str(tmp_path / "out")])

    for arguments in (["quiz"], ["slides", "5"]):
        monkeypatch.chdir(ROOTS[0].parent)
        assert call(*arguments).exit_code == 0
        monkeypatch.chdir(tmp_path)
        assert "call it in the top folder of a clone" in str(call(*arguments).exception)


SOURCE = """# %% [markdown]
# # 9 · A title
#
# The first sentence. Then more.

# %%
import matplotlib.pyplot as plt

# %% [markdown]
# ## 9.1 · A part
#
# **Predict.** What is it?
#
# Prose that nobody reads from a wall.

# %%
lesson = type("Lesson", (), {"check": lambda self, name: plt.subplots()[0]})()

# %%
lesson.check("what a student writes")

# %%
fig, axes = plt.subplots()
plt.close(fig)
fig

# %% [markdown]
# ## References
#
# A book.
"""


def test_a_deck_has_headings_questions_and_figures_and_keeps_prose_for_the_speaker(tmp_path):
    path = tmp_path / "09_x.py"
    path.write_text(SOURCE, encoding="utf-8")
    page = slides.make_slides(path)
    shown = re.sub(r'(?s)<aside class="notes">.*?</aside>', "", page)
    for text in ("A title", "The first sentence.", "9.1", "What is it?"):
        assert text in shown
    assert shown.count(f'<img alt="{slides._ALT}"') == 1  # nothing of what students do at their desks
    assert "Prose that nobody reads" in page
    for text in ("Prose that nobody reads", "import matplotlib", "A book."):
        assert text not in shown
