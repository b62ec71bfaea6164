"""What every page that the tests open has to do."""


def assert_quiet(page):
    """Assert that a page complains about nothing, and asks for nothing but files."""
    assert page.complaints == []
    assert [r for r in page.requests if not r.startswith(("file:", "data:"))] == []
