"""Who matches whom: the best hits of many documents, and the clusters of near duplicates among them.

values.py     Match and Matrix: the result, as CSV and as a picture
clusters.py   groups of documents that near duplicates connect, and an order that shows them
compare.py    the matches of one document
compute.py    matrix: all documents, in several processes, resumable
figure.py     the picture
"""
