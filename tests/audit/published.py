"""Whether a document fits the published schema of `audit.json`."""

from __future__ import annotations

KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def fits(value, rule, defs, where="audit"):
    """The part of JSON Schema that the published one uses."""
    if "$ref" in rule:
        return fits(value, defs[rule["$ref"].rpartition("/")[2]], defs, where)
    if "anyOf" in rule:
        kinds = [r for r in rule["anyOf"] if (r.get("type") == "null") == (value is None)]
        assert kinds, where
        for kind in kinds[:-1]:  # objects of several kinds: one of them, told by what it must have
            needed = defs[kind["$ref"].rpartition("/")[2]]["required"]
            if set(needed) <= set(value):
                return fits(value, kind, defs, where)
        return fits(value, kinds[-1], defs, where)
    assert value == rule.get("const", value), where
    assert value in rule.get("enum", [value]), where
    assert isinstance(value, KINDS[rule["type"]] if "type" in rule else object), where
    if isinstance(value, dict):
        lacking = set(rule.get("required", ())) - set(value)
        assert not lacking, f"{where} lacks {lacking}"
        extra = rule.get("additionalProperties", True)
        for name, inner in value.items():
            known = rule.get("properties", {}).get(name)
            if known is not None or isinstance(extra, dict):
                fits(inner, known if known is not None else extra, defs, f"{where}.{name}")
    if isinstance(value, list):
        kinds = rule.get("prefixItems") or [rule.get("items", {})] * len(value)
        for i, (inner, kind) in enumerate(zip(value, kinds, strict=True)):
            fits(inner, kind, defs, f"{where}[{i}]")
    return None
