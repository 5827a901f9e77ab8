"""The page in a real Chromium, in front of a real server of tiny models."""

from __future__ import annotations

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from minispec.engine.generation.result import MEANING
from tests.serving.running import Running, running

MISSING = [name for name in ("playwright", "axe_playwright_python") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)}: not installed (dependency group docs-check)"),
]
WIDTHS = (360, 768, 1920)
LANE, TOKEN = ".lane .step", ".text .token"
OVER = "() => document.getElementById('stop').disabled && !document.getElementById('run').disabled"


class Tab:
    """The page in a tab, and what went wrong in it."""

    def __init__(self, context, url):
        self.page = context.new_page()
        self.url = url
        self.asked = []
        self.wrong = []
        self.page.on("console", lambda told: self.wrong.append(told.text) if told.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", self._note)
        self.page.goto(url)
        self.page.wait_for_function(OVER)
        # Random models may end a text at any token: with this seed they go on.
        self.page.evaluate("() => document.getElementById('seed').value = 7")

    def _note(self, request):
        if not request.url.startswith(f"{self.url}/"):
            self.wrong.append(f"asks for {request.url}")
        if request.method == "POST":
            self.asked.append(request.post_data_json)

    def set(self, **fields):
        """Fill in the form."""
        self.page.evaluate("() => document.getElementById('options').open = true")
        for name, value in fields.items():
            if name in ("draft", "rule", "policy", "pace"):
                self.page.select_option(f"#{name}", value)
            elif name in ("gamma", "temperature", "top_p", "max_tokens"):
                self.page.evaluate(
                    "([name, value]) => { const slider = document.getElementById(name); slider.value = value;"
                    " slider.dispatchEvent(new Event('input', {bubbles: true})); }",
                    [name, value],
                )
            else:
                self.page.fill(f"#{name}", str(value))
        return self

    def press(self, button):
        self.page.click(f"#{button}")
        return self

    def finish(self):
        self.page.wait_for_function(OVER, timeout=30_000)
        return self

    def run(self, button="run"):
        return self.press(button).finish()

    def read(self, which=0):
        """The text of a run, without its prompt."""
        body = self.page.locator(".text").nth(which)
        return body.evaluate("p => p.textContent").removeprefix(body.locator(".prompt").evaluate("p => p.textContent"))

    def counters(self, which=0):
        rows = self.page.locator("#counters dl").nth(which).locator("div")
        return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows.all()}

    @property
    def status(self):
        return self.page.inner_text("#status")

    @property
    def alert(self):
        return self.page.inner_text("#error")


Open = Callable[..., Tab]


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    from tests.docs_site.browser import FLAGS, find_chromium

    chromium = find_chromium()
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def open_tab(browser, server: Running) -> Iterator[Open]:
    """Open tabs; none of them may have had an error that its test did not expect, and none leaves the server work."""
    with contextlib.ExitStack() as stack:
        tabs: list[Tab] = []

        def opened(url: str = server.url, **options: object) -> Tab:
            context = browser.new_context(**options)
            stack.callback(context.close)
            tabs.append(Tab(context, url))
            return tabs[-1]

        yield opened
        assert [tab.wrong for tab in tabs] == [[] for _ in tabs]
    server.wait_until_idle()


@pytest.fixture
def slow(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each step of the engine take a while, as a larger model's does."""
    step = server.engine.step

    def slowly(note):
        time.sleep(0.03)
        return step(note)

    monkeypatch.setattr(server.engine, "step", slowly)


@pytest.fixture
def count_cancelled(server: Running) -> Callable[[], float]:
    """Count the choices that had not ended when their reader went away, from here on."""
    counter = server.service.metrics._cancelled.labels(server.model)._value
    before = counter.get()
    return lambda: counter.get() - before


def told(server: Running, tab: Tab, which: int = -1) -> dict:
    """What the server answers to a request of the page, asked again and not streamed."""
    asked = {key: value for key, value in tab.asked[which].items() if key not in ("stream", "events", "provisional")}
    return server.complete(**asked)["choices"][0]


@pytest.mark.parametrize(
    ("kind", "rule"), [(0, "rejection"), (0, "block"), (0, "match"), (1, "rejection"), (3, "tree"), (3, "match")]
)
def test_the_text_and_the_figures_are_the_servers(kind: int, rule: str, open_tab: Open, server: Running) -> None:
    """Random models write half characters and controls: whatever comes, the page shows that and nothing else."""
    name = httpx.get(f"{server.url}/v1/options").json()["drafts"][kind]["name"]
    tab = open_tab().set(draft=name, rule=rule, prompt="the end of", max_tokens=64, pace="1", seed=5).run()
    answer = told(server, tab)
    assert tab.read() == answer["text"]
    made, counted = answer["minispec"]["metrics"], tab.counters()
    assert counted["tokens"] == str(made["num_tokens"])
    assert counted["target passes"] == str(made["num_steps"])
    assert float(counted["τ, tokens per pass"]) == pytest.approx(made["mean_acceptance_length"], rel=5e-3)
    kept, drafted = made["num_accepted_tokens"], made["num_draft_tokens"]
    assert counted["drafts kept"].startswith(f"{kept} of {drafted} ") or drafted == 0
    places = [row.inner_text() for row in tab.page.locator(".places tbody .number").all()]
    assert [int(place.split("/")[0]) for place in places] == made["num_accepted_tokens_per_pos"][: len(places)]
    assert tab.page.locator(LANE).count() == made["num_steps"]
    promise = answer["minispec"]["guarantee"]
    assert tab.page.inner_text("#guarantee") == f"Guarantee: {promise}; {MEANING[promise]}."


def test_a_step_says_p_q_and_what_else_was_likely(open_tab: Open, server: Running) -> None:
    tab = open_tab().set(rule="rejection", policy="", gamma=3, pace="1", seed=4, max_tokens=24).run()
    page = tab.page
    marked = page.locator(f"{TOKEN}.accepted").first
    marked.hover()
    row = page.locator("#step tr.chosen").first.inner_text().split()
    assert "accepted" in row
    q, p, accept = map(float, row[-3:])
    assert accept == pytest.approx(min(1.0, p / q), rel=0.02), "the rule of this run is rejection"
    shares = [float(cell.inner_text()) for cell in page.locator("#step .likely .number").all()]
    assert 5 <= len(shares) <= 6
    assert sum(shares[:5]) <= 1.01
    assert shares[:5] == sorted(shares[:5], reverse=True)
    page.locator(LANE).nth(1).hover()
    assert page.inner_text("#step").startswith("Step 2:")


LOOK_OF_STRUCK = """() => {
  const struck = document.querySelector('.gone > .rejected');
  return struck && [getComputedStyle(struck).textDecorationLine, getComputedStyle(struck).animationName];
}"""
STOP_AMID_DRAFTS = """() => new Promise((done) => {
  const watch = new MutationObserver(() => {
    const waiting = document.querySelectorAll('.text > .drafted').length;
    if (!waiting) return;
    watch.disconnect();
    document.getElementById('stop').click();
    done(waiting);
  });
  watch.observe(document.getElementById('texts'), { childList: true, subtree: true });
})"""


def test_drafts_are_shown_judged_and_taken_back(open_tab: Open, slow: None) -> None:
    tab = open_tab().set(prompt="the", pace="10", max_tokens=64, seed=1).press("run")
    page = tab.page
    page.wait_for_selector(".text > .drafted")
    assert page.wait_for_function(LOOK_OF_STRUCK).json_value() == ["line-through", "fade"]
    assert page.evaluate(STOP_AMID_DRAFTS) > 0
    assert page.locator(".text .drafted, .gone > *").count() == 0, "what is left is committed"


COUNT_DRAFTS = """() => {
  window.seen = 0;
  const look = (changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach((node) => {
    if (node.className === 'drafted' && node.closest('.text')) window.seen++;
  }));
  new MutationObserver(look).observe(document.getElementById('texts'), { childList: true, subtree: true });
}"""


def test_drafts_can_be_left_out(open_tab: Open) -> None:
    tab = open_tab().set(prompt="the", pace="1", max_tokens=64)
    tab.page.evaluate(COUNT_DRAFTS)
    tab.page.uncheck("#drafts")
    assert tab.run().page.evaluate("window.seen") == 0
    tab.page.check("#drafts")
    assert tab.run().page.evaluate("window.seen") > 0, "the control"


@pytest.mark.usefixtures("slow")
def test_stop_ends_it_on_the_server_too_and_what_stands_stays(
    open_tab: Open, server: Running, count_cancelled: Callable[[], float]
) -> None:
    tab = open_tab().set(prompt="the end", pace="1", max_tokens=120, seed=7, draft="none").press("run")
    tab.page.wait_for_function("() => document.querySelectorAll('.text .token').length >= 8")
    tab.press("stop")
    server.wait_until_idle()
    assert count_cancelled() == 1
    shown = tab.read()
    count = int(tab.counters()["tokens"])
    assert 8 <= count < 120
    assert tab.status == f"Stopped after {count} tokens."
    assert told(server, tab)["text"].startswith(shown)
    tab.set(max_tokens=8).run()
    assert tab.counters()["tokens"] == "8", "and the next run begins anew"


def test_a_new_run_takes_the_place_of_the_old_one(open_tab: Open, server: Running, slow: None) -> None:
    tab = open_tab().set(prompt="first", pace="1", max_tokens=400, seed=7).press("run")
    tab.page.wait_for_selector(TOKEN)
    tab.set(prompt="second", max_tokens=16).run()
    assert tab.page.locator(".prompt").all_inner_texts() == ["second"]
    assert tab.read() == told(server, tab)["text"]


def test_what_is_chosen_is_what_is_asked_for(open_tab: Open, server: Running) -> None:
    tab = open_tab().set(pace="1", seed=1, max_tokens=16)
    options = httpx.get(f"{server.url}/v1/options").json()
    tree = next(draft["name"] for draft in options["drafts"] if draft["tree"])
    tab.set(gamma=2, temperature=0.5, top_p=0.9).run()
    tab.set(policy="heuristic", rule="lenient").run()
    assert tab.page.is_disabled("#gamma")
    assert "Lossy" in tab.page.inner_text("#promise")
    tab.set(draft=tree).run()
    assert tab.page.is_disabled("#policy")
    assert tab.page.locator("#rule option:checked").inner_text() != "lenient (lossy)", "that one judges no trees"
    tab.set(draft="none").run()
    first, second, third, fourth = tab.asked
    chosen = {"draft": options["defaults"]["draft"], "verify": options["defaults"]["verify"], "gamma": 2}
    assert (first["temperature"], first["top_p"], first["speculative"]) == (0.5, 0.9, chosen)
    assert second["speculative"] == {**chosen, "verify": "lenient", "gamma": "heuristic"}
    assert third["speculative"]["draft"] == tree
    assert "gamma" not in third["speculative"]
    assert fourth["speculative"] is False
    assert tab.page.locator(f"{TOKEN}.plain").count() == tab.page.locator(TOKEN).count() > 0


def test_the_steps_of_a_tree_are_drawn_as_trees(open_tab: Open, server: Running) -> None:
    options = httpx.get(f"{server.url}/v1/options").json()
    tree = next(draft["name"] for draft in options["drafts"] if draft["tree"])  # 2x2: two roots, two children each
    tab = open_tab().set(draft=tree, pace="1", seed=4, max_tokens=24).run()
    tab.page.locator(LANE).first.focus()
    drawn = tab.page.locator("svg.tree")
    assert drawn.locator(".edge").count() == drawn.locator("text").count() == 6
    assert "A tree of 6 drafts, 2 deep" in (drawn.get_attribute("aria-label") or "")
    boxes = [word.bounding_box() for word in drawn.locator("text").all()]
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            assert abs(one["x"] - other["x"]) > 60 or abs(one["y"] - other["y"]) > 10, "no word on another"


def test_a_race_shows_both_on_one_clock(open_tab: Open, server: Running) -> None:
    tab = open_tab().set(pace="1", seed=2, max_tokens=48).run("race")
    assert [asked["speculative"] is False for asked in tab.asked] == [True, False]
    for which in (0, 1):
        assert tab.read(which) == told(server, tab, which)["text"]
    plain, fast = (float(tab.counters(which)["tokens per second"]) for which in (0, 1))
    assert f"Speculative decoding made {fast:g} tokens a second, plain decoding {plain:g}" in tab.status
    gain = float(tab.status.split(": ")[1].split(" times")[0])
    assert gain == pytest.approx(fast / plain, rel=0.02)
    lanes = tab.page.locator("svg.lane").all()
    ticks = [[tick.get_attribute("x") for tick in lane.locator("text.tick").all()] for lane in lanes]
    shared = min(len(each) for each in ticks)
    assert ticks[0][-shared:] == ticks[1][-shared:], "the same place is the same time"
    room = tab.page.locator(".lane-view").first.evaluate("e => e.clientWidth")
    longest = max(lane.locator(".step").last.bounding_box()["x"] - lane.bounding_box()["x"] for lane in lanes)
    assert 0.7 * room < longest <= room, "all of it is seen at once"


def test_a_race_without_a_draft_is_refused(open_tab: Open) -> None:
    tab = open_tab().set(draft="none").run("race")
    assert tab.alert == "A race needs a draft: choose one."
    assert tab.asked == []


@pytest.mark.usefixtures("slow")
def test_a_race_can_be_stopped_while_it_is_run(
    open_tab: Open, server: Running, count_cancelled: Callable[[], float]
) -> None:
    tab = open_tab().set(max_tokens=400, seed=2).press("race")
    tab.page.wait_for_function("() => document.getElementById('status').textContent.includes('runs')")
    tab.press("stop")
    server.wait_until_idle()
    assert count_cancelled() == 1
    assert tab.status == "Stopped."


def test_two_tabs_do_not_see_each_other(open_tab: Open, server: Running, slow: None) -> None:
    tabs = [open_tab().set(pace="1", max_tokens=64, seed=seed, prompt="the end") for seed in (1, 2)]
    for tab in tabs:
        tab.press("run")
    for tab in tabs:
        tab.page.wait_for_selector(TOKEN)
    for tab in tabs:
        tab.finish()
        assert tab.read() == told(server, tab)["text"]
    assert tabs[0].read() != tabs[1].read()


@pytest.mark.usefixtures("slow")
def test_a_closed_tab_leaves_nothing_behind(
    open_tab: Open, server: Running, count_cancelled: Callable[[], float]
) -> None:
    tab = open_tab().set(pace="1", max_tokens=400).press("run")
    tab.page.wait_for_selector(TOKEN)
    assert not server.is_idle()
    tab.page.close()
    server.wait_until_idle()
    assert count_cancelled() == 1


def test_a_server_that_goes_away_is_told(browser, target: str, drafts: tuple[str, ...]) -> None:
    with contextlib.closing(browser.new_context()) as context:
        with running(target, drafts, drain_s=0.1) as found:
            step = found.engine.step
            found.engine.step = lambda note: (time.sleep(0.05), step(note))[1]
            tab = Tab(context, found.url).set(pace="1", max_tokens=400).press("run")
            tab.page.wait_for_selector(TOKEN)
        tab.finish()
        assert tab.page.locator(TOKEN).count() > 0
        tab.run()
        assert tab.alert == "The server does not answer. Is it still running?"


def test_a_refusal_is_shown_in_the_servers_words(open_tab: Open) -> None:
    tab = open_tab().set(prompt="word " * 600, max_tokens=400, pace="1").run()
    assert "context" in tab.alert or "tokens" in tab.alert
    assert [wrong for wrong in tab.wrong if "400" not in wrong] == []
    tab.wrong.clear()
    tab.set(prompt="word").run()
    assert tab.page.is_hidden("#error")


def test_a_key_is_asked_for_where_one_is_needed(browser, target: str, drafts: tuple[str, ...]) -> None:
    with (
        running(target, drafts, api_key="0123456789abcdef") as found,
        contextlib.closing(browser.new_context()) as context,
    ):
        tab = Tab(context, found.url).set(pace="1", max_tokens=16).run()
        assert "key" in tab.alert
        tab.set(key="0123456789abcdef").run()
        assert tab.page.is_hidden("#error")
        assert int(tab.counters()["tokens"]) > 0


def test_everything_by_keyboard(open_tab: Open, server: Running) -> None:
    tab = open_tab()
    press = tab.page.keyboard.press
    focused = "() => document.activeElement.id || document.activeElement.getAttribute('aria-label') || ''"
    for _ in range(3):
        press("Tab")
        if tab.page.evaluate(focused) == "prompt":
            break
    assert tab.page.evaluate(focused) == "prompt"
    press("Control+A")
    tab.page.keyboard.type("the cat")
    reached = []
    while "seed" not in reached:
        press("Tab")
        reached.append(tab.page.evaluate(focused))
        assert len(reached) < 20, reached
        if reached[-1] == "max_tokens":
            press("Home")
        if reached[-1] == "seed":
            tab.page.keyboard.type("11")
    assert reached[:2] == ["run", "race"], "the order of the page; stop is disabled"
    assert {"draft", "rule", "policy", "gamma", "temperature", "top_p", "max_tokens"} <= set(reached)
    press("Tab")
    tab.page.keyboard.type("as it")
    press("Control+Enter")
    tab.finish()
    assert tab.asked[0]["prompt"] == "the cat"
    assert (tab.asked[0]["seed"], tab.asked[0]["max_tokens"]) == (11, 8)
    while not tab.page.evaluate("() => document.activeElement.matches('.token')"):
        press("Tab")
    press("ArrowRight")
    second = tab.page.locator(TOKEN).nth(1)
    assert second.evaluate("e => e === document.activeElement")
    assert tab.page.locator("#step tr.chosen").count() >= 1
    press("End")
    assert tab.page.locator(TOKEN).last.evaluate("e => e === document.activeElement")
    press("Tab")
    assert tab.page.evaluate("() => document.activeElement.matches('.step')"), "one stop for all tokens, then the lane"
    press("Home")
    assert tab.page.inner_text("#step").startswith("Step 1:")
    press("Shift+Tab")
    assert tab.page.locator(TOKEN).last.evaluate("e => e === document.activeElement"), "where one was"


@pytest.mark.usefixtures("slow")
def test_escape_stops(open_tab: Open, server: Running, count_cancelled: Callable[[], float]) -> None:
    tab = open_tab().set(pace="1", max_tokens=400).press("run")
    tab.page.wait_for_selector(TOKEN)
    tab.page.keyboard.press("Escape")
    server.wait_until_idle()
    assert count_cancelled() == 1
    assert tab.status.startswith("Stopped after")


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_every_screen(width: int, open_tab: Open, drafts: tuple[str, ...]) -> None:
    tab = open_tab(viewport={"width": width, "height": 740}).set(prompt="w" * 300, pace="1", max_tokens=48)
    beyond = "() => document.documentElement.scrollWidth - innerWidth"
    assert tab.page.evaluate(beyond) <= 0
    for button in ("run", "race"):
        tab.run(button)
        assert tab.page.evaluate(beyond) <= 0, button
        tab.page.locator(TOKEN).first.focus()
        assert tab.page.evaluate(beyond) <= 0, "a step in full"
    low = [
        box
        for one in tab.page.locator("button, select, input").all()
        if (box := one.bounding_box()) and box["height"] < 17
    ]
    assert low == [], "a finger must hit them"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: str, open_tab: Open, server: Running) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def faults(tab: Tab) -> list[str]:
        found = Axe().run(tab.page).response["violations"]
        return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]

    tab = open_tab(color_scheme=scheme)
    assert faults(tab) == []
    tab.set(pace="1", max_tokens=48, prompt="the end").run()
    tab.page.locator(f"{TOKEN}").first.focus()
    assert faults(tab) == []
    tab.run("race")
    assert faults(tab) == []
    tree = next(draft["name"] for draft in httpx.get(f"{server.url}/v1/options").json()["drafts"] if draft["tree"])
    tab.set(draft=tree).run()
    tab.page.locator(LANE).first.focus()
    assert faults(tab) == []
    tab.set(draft="none").run("race")
    assert faults(tab) == [], "with a message"
    tab.page.evaluate("() => document.querySelector('label[for=prompt]').remove()")
    assert faults(tab), "the control: axe is there and looks"


def test_the_theme_can_be_turned(open_tab: Open) -> None:
    tab = open_tab(color_scheme="light")
    paper = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = tab.page.evaluate(paper)
    tab.press("theme")
    assert tab.page.evaluate(paper) != light
    assert tab.page.get_attribute("#theme", "aria-pressed") == "true"
    tab.press("theme")
    assert tab.page.evaluate(paper) == light


def test_who_wants_no_motion_sees_none(open_tab: Open, slow: None) -> None:
    tab = open_tab(reduced_motion="reduce").set(prompt="the", pace="10", max_tokens=64, seed=1).press("run")
    tab.page.wait_for_selector(".gone > .rejected", state="attached")
    moving = "() => document.getAnimations().length"
    assert tab.page.evaluate(moving) == 0
    tab.press("stop")


def test_a_listener_hears_sentences_and_no_tokens(open_tab: Open, slow: None) -> None:
    tab = open_tab().set(pace="1", max_tokens=64, seed=1).run()
    heard = [one.inner_text() for one in tab.page.locator("#log p").all()]
    assert heard[0] == "Started, seed 1."
    assert heard[-1].startswith("Finished: 64 tokens")
    assert len(heard) <= 5
    assert tab.page.get_attribute("#log", "aria-live") == "polite"
    assert tab.page.locator("[aria-live]").count() == 1, "nothing else speaks up by itself, but errors"


STOPPED_IN_A_BURST = """async () => {
  const real = window.fetch;
  window.fetch = async () => new Response('data: {"n": 1}\\n\\ndata: {"n": 2}\\n\\ndata: [DONE]\\n\\n');
  const { complete } = await import('./stream.js');
  const abort = new AbortController();
  const heard = [];
  try {
    for await (const { data } of complete({}, { signal: abort.signal })) {
      heard.push(data.n);
      abort.abort();
    }
  } catch (error) {
    heard.push(error.name);
  }
  window.fetch = real;
  return heard;
}"""


def test_after_a_stop_comes_nothing_that_had_arrived_already(open_tab: Open) -> None:
    assert open_tab().page.evaluate(STOPPED_IN_A_BURST) == [1, "AbortError"]


READ_ALOUD = """async () => {
  const { Reader } = await import('./reader.js');
  const real = performance.now;
  let clock = 0;
  performance.now = () => clock;
  const said = [];
  const reader = new Reader((text) => said.push([clock, text]));
  const text = 'It was 3.5 miles. "Go!" he said. She did not go; she sat down. Then they went. And th';
  for (const letter of text) {
    clock += 100;
    reader.take(letter);
  }
  reader.end();
  performance.now = real;
  return [text, said];
}"""


def test_sentences_are_read_whole_and_not_too_often(open_tab: Open) -> None:
    text, said = open_tab().page.evaluate(READ_ALOUD)
    assert "".join(piece for _, piece in said) == text
    assert [piece for _, piece in said[:-1]] == [piece for _, piece in said[:-1] if piece[-1] in '.!?"']
    times = [time for time, _ in said[:-1]]
    assert len(times) >= 2
    assert all(later - earlier >= 4000 for earlier, later in zip([0, *times], times, strict=False))


CUT_ANYWHERE = """async () => {
  const text = ': ping\\r\\n\\r\\nevent: prefilled\\r\\ndata: {"at_s": 0}\\r\\n\\r\\n' +
    'data: {"text": "größe 👍"}\\n\\ndata: [DONE]\\n\\n';
  const bytes = new TextEncoder().encode(text);
  const real = window.fetch;
  const { complete } = await import('./stream.js');
  const heard = new Set();
  for (let size = 1; size <= bytes.length; size++) {
    window.fetch = async () => new Response(new ReadableStream({
      start(stream) {
        for (let i = 0; i < bytes.length; i += size) stream.enqueue(bytes.slice(i, i + size));
        stream.close();
      },
    }));
    const events = [];
    for await (const event of complete({})) events.push(event);
    heard.add(JSON.stringify(events));
  }
  window.fetch = real;
  return [...heard];
}"""


def test_a_stream_may_be_cut_anywhere(open_tab: Open) -> None:
    """Between any two bytes, of a line end or of a character."""
    assert open_tab().page.evaluate(CUT_ANYWHERE) == [
        '[{"event":"prefilled","data":{"at_s":0}},{"event":"chunk","data":{"text":"größe 👍"}}]'
    ]
