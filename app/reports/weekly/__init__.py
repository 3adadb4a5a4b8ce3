"""The weekly efficiency report as a page: values of `domain.weekly` -> views, one module a section -> one template."""
