"""openpyxl as an independent reader and writer of workbooks.

Usage: workbooks.py <folder> <count>. Writes <count> random workbooks made-<n>.xlsx into the folder, then reads every workbook
of the folder and writes rows.json: for each file its rows as texts, converted here, without the code that is tested.
"""
import datetime
import decimal
import json
import os
import random
import sys
import warnings

import openpyxl
from openpyxl.utils.datetime import CALENDAR_MAC_1904

warnings.simplefilter("ignore")
DATES = ["mm-dd-yy", "yyyy-mm-dd", "dd/mm/yyyy", "d-mmm-yy", "[$-409]d\\-mmm\\-yyyy"]
INSTANTS = ["m/d/yy h:mm", "yyyy-mm-dd hh:mm:ss", "dd/mm/yyyy\\ hh:mm"]
TIMES = ["h:mm", "hh:mm:ss", "h:mm:ss AM/PM"]
PIECES = ["S", "0", "7", " ", "-", "Toyota", "é", "ض", "漢", "😀", "&", "<", ">", '"', "'", ",", ";", "=", "#", "\n", "\t", "]]>"]


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    for number in range(count):
        write(os.path.join(folder, f"made-{number}.xlsx"), random.Random(number))
    names = sorted(name for name in os.listdir(folder) if name.endswith(".xlsx"))
    rows = {name: read(os.path.join(folder, name)) for name in names}
    with open(os.path.join(folder, "rows.json"), "w") as file:
        json.dump(rows, file)


def read(path):
    book = openpyxl.load_workbook(path, data_only=True)
    rows = [[text_of(cell) for cell in row] for row in book.worksheets[0].iter_rows()]
    return [trimmed(row) for row in trimmed(rows)]


def trimmed(cells):
    last = max((at for at, cell in enumerate(cells) if cell and any(cell)), default=-1)
    return cells[: last + 1]


def text_of(cell):
    value, form = cell.value, cell.number_format
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.time):
        return rounded(datetime.datetime.combine(datetime.date(2000, 1, 1), value)).strftime("%H:%M:%S")
    if isinstance(value, datetime.datetime):
        at = rounded(value)
        return at.strftime("%Y-%m-%d") if form in DATES else at.strftime("%Y-%m-%dT%H:%M:%S")
    if form == "00000" and value == int(value):
        return f"{'-' if value < 0 else ''}{abs(int(value)):05d}"
    if form.endswith("%"):
        return plain(value * 100) + "%"
    if form.startswith('"$"'):
        return ("-$" if value < 0 else "$") + plain(abs(value))
    if form.endswith('" km"'):
        return plain(value) + " km"
    return plain(value)


def rounded(at):
    return (at + datetime.timedelta(microseconds=500_000)).replace(microsecond=0)


def plain(value):
    return str(value) if isinstance(value, int) else format(decimal.Decimal(format(value, ".15g")), "f")


def write(path, rand):
    book = openpyxl.Workbook()
    if rand.random() < 0.2:
        book.epoch = CALENDAR_MAC_1904
    sheet = book.active
    width = rand.randint(1, 9)
    line = 0
    for _ in range(rand.randint(1, 14)):
        line += 1 if rand.random() < 0.9 else rand.randint(2, 5)
        for column in range(1, width + 1):
            if rand.random() < 0.85:
                put(sheet.cell(line, column), rand)
    if rand.random() < 0.3:
        sheet.merge_cells(start_row=line + 1, end_row=line + 2, start_column=1, end_column=2)
    book.save(path)


def put(cell, rand):
    kind = rand.randrange(13)
    day = datetime.datetime(1904, 3, 1) + datetime.timedelta(days=rand.randrange(60_000))
    if kind < 4:
        text = "".join(rand.choice(PIECES) for _ in range(rand.randint(1, 6)))
        # Without a value "=…" would be a formula of openpyxl, and "#N/A" an error.
        cell.value = "x" + text
    elif kind == 4:
        cell.value = f"{rand.randrange(10 ** 6):06d}"
    elif kind == 5:
        cell.value = rand.randrange(-(10 ** 5), 10 ** rand.randint(1, 14))
        cell.number_format = rand.choice(["General", "00000", "#,##0", '#,##0" km"', "0"])
    elif kind == 6:
        cell.value = round(rand.uniform(-(10 ** 4), 10 ** rand.randint(1, 8)), rand.randint(1, 6))
        cell.number_format = rand.choice(["General", "#,##0.00", '"$"#,##0.00', "0.0", "0.00%", "@"])
    elif kind == 7:
        cell.value, cell.number_format = day, rand.choice(DATES)
    elif kind == 8:
        cell.value = day + datetime.timedelta(seconds=rand.randrange(86_400))
        cell.number_format = rand.choice(INSTANTS)
    elif kind == 9:
        cell.value = datetime.time(rand.randrange(24), rand.randrange(60), rand.randrange(60))
        cell.number_format = rand.choice(TIMES)
    elif kind == 10:
        cell.value = rand.random() < 0.5
    elif kind == 11:
        cell.value = rand.choice(["#N/A", "#REF!", "#DIV/0!", "#VALUE!"])
        cell.data_type = "e"
    else:
        cell.number_format = "0.00"


if __name__ == "__main__":
    main()
