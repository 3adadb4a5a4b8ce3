"""What the JSON API answers, as its OpenAPI document describes it: one module per noun.

Answers are made by the services and are not looked through once more on their way out; that they are what stands here
is for the tests to say. Keys may come to an answer, none leaves.
"""
