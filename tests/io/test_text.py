import json
import time

import pytest

from dircal.io import from_bytes


def test_a_name_that_comes_twice_after_many_others():
    pairs = [f'"{i}": 1' for i in range(100_000)]
    content = f'{{{", ".join(pairs)}, "z": 1, "z": 2}}'.encode()
    start = time.process_time()
    with pytest.raises(ValueError, match="it has the key 'z' twice"):
        from_bytes(content)
    # It takes a tenth of a second; to look for every name among the others took minutes.
    assert time.process_time() - start < 5


def test_the_first_name_that_is_repeated_is_told():
    with pytest.raises(ValueError, match="it has the key 'b' twice, in 'a'"):
        from_bytes(json.dumps({"a": {"b": 1, "c": 2}}).replace('"c"', '"b"').encode())
