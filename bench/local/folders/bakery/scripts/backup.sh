#!/bin/sh
# Keeps the orders of the last 30 days.
tar czf /backup/orders.tgz --newer-mtime="30 days ago" orders/
