"""The methods that the paper compares FoRo with, under the same protocol; they train with torch (extra ``torch``).

Every module here can be imported without torch, so that methods are listed, and their results shown, anywhere.
"""
