"""Networks: tensors in, tensors out. They know nothing of tasks, so one executor serves all of them."""
