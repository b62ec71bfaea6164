# %% 1
def snake_case(name):
    after_lowercase = r"(?<=[a-z])(?=[A-Z])"
    before_lowercase = r"\B(?=[A-Z][a-z])"
    return re.sub(f"{after_lowercase}|{before_lowercase}", "_", name).lower()


says(f"`MLP` should become `{snake_case('MLP')}`")
says(f"`MyMLPLayer` should become `{snake_case('MyMLPLayer')}`")
says(f"`BatchNorm` should stay `{snake_case('BatchNorm')}`")


class MyMLPLayer(Module):
    def __call__(self):
        return self.module_name


pair = transform_with_state(lambda: MyMLPLayer()())
assert pair.apply({}, {}, None)[0] == snake_case("MyMLPLayer")
# %% 2
rerun("def networks(lib):")
before = list(params)
rerun(
    "def networks(lib):",
    {
        "            x = jax.nn.relu(Linear(4)(x))": (
            "            x = jax.nn.relu(make_second()(x))"
        ),
        "    class Network(lib.Module):": (
            "    def make_second():\n        return Linear(4)\n\n    class Network(lib.Module):"
        ),
    },
)
assert list(params) == before
assert same(record, expected)
says(f"there are still {len(params)} paths")
# %% 3
rerun("def entered(method):", {"                names=collections.Counter(),\n": ""})
rerun("def networks(lib):")
assert not (first == second).all()
says(f"there are {len(params)} paths, and the outputs of the two calls differ.")
