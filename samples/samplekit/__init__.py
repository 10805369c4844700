"""The tools and texts `samples/build.py` makes the sample documents from.

Here belong page layouts, file writers and the invented texts. The product never imports this
package, and nothing here reads the product.
"""
