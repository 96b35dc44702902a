"""Networks: tensors in, tensors out. They depend on no task, so one executor serves all."""
