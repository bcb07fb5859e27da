import pytest

from dircal.llm import top_logprobs

TOKENS = [{"token": "A", "logprob": -0.5}, {"token": " B", "logprob": -1.5}]


@pytest.mark.parametrize(
    "response",
    [
        {"choices": [{"logprobs": {"content": [{"token": "A", "top_logprobs": TOKENS}]}}]},
        {"choices": [{"logprobs": {"top_logprobs": [{"A": -0.5, " B": -1.5}]}}]},
        {
            "custom_id": "7",
            "response": {
                "body": {"choices": [{"logprobs": {"content": [{"top_logprobs": TOKENS}]}}]}
            },
        },
    ],
)
def test_forms_of_answers(response):
    assert top_logprobs(response) == {"A": -0.5, " B": -1.5}


def test_the_token_itself_where_no_others_are_listed():
    content = [{"token": "A", "logprob": -0.25, "top_logprobs": []}]
    assert top_logprobs({"choices": [{"logprobs": {"content": content}}]}) == {"A": -0.25}


@pytest.mark.parametrize(
    "response",
    [{}, {"choices": []}, {"choices": [{"logprobs": None}]}, {"choices": [{"text": "A"}]}, [1]],
)
def test_answers_without_them(response):
    with pytest.raises(ValueError, match=r"`response` must hold.*logprobs=True"):
        top_logprobs(response)
