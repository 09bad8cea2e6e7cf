"""The bar chart."""

from __future__ import annotations

import pytest

from mcpsim.course import Chart


def test_bars_are_as_long_as_their_numbers() -> None:
    chart = Chart("Calls by replica", {"server-1": 2_000, "server-2": 500, "nobody": 0})
    assert repr(chart).splitlines() == [
        "Calls by replica",
        "",
        "server-1  2,000  " + 40 * "█",
        "server-2    500  " + 10 * "█",
        "nobody        0",
    ]
    html = chart._repr_html_()
    assert html.count("<tr>") == 3
    assert "width:100.0%" in html
    assert "width:25.0%" in html
    assert "width:0.0%" in html


def test_nothing_in_a_chart_runs() -> None:
    html = Chart("<script>", {"<b>": 1.5})._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "1.5" in html


@pytest.mark.parametrize("values", [{}, {"a": 0}])
def test_a_chart_of_nothing_is_a_chart(values: dict[str, float]) -> None:
    assert repr(Chart("Nothing", values)).startswith("Nothing\n")
    assert "<caption" in Chart("Nothing", values)._repr_html_()


@pytest.mark.parametrize("value", [-1, float("inf"), float("nan")])
def test_a_bar_is_neither_negative_nor_endless(value: float) -> None:
    with pytest.raises(ValueError, match=f"a has {value:g}"):
        Chart("Wrong", {"a": value})
