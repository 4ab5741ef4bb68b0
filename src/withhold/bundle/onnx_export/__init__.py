"""Write the modifier of a bundle as an ONNX model, for programs without Python or torch."""

from withhold.bundle.onnx_export import channel_forms, feature_forms, image_forms
from withhold.bundle.onnx_export.onnx_form import OnnxForm, form_of
from withhold.bundle.onnx_export.onnx_model import WARNING, onnx_bytes, warnings_of

__all__ = ["WARNING", "OnnxForm", "form_of", "onnx_bytes", "registered", "warnings_of"]

registered = (feature_forms, channel_forms, image_forms)
