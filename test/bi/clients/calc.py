"""LibreOffice, without a window: a query into a sheet through SDBC, a formula over it, and the sheet as CSV.

Reads {"url", "user", "password", "query", "sum", "csv", "write"} from stdin, where sum is the column of the sheet to add up,
e.g. "C", and writes one JSON document to stdout.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.sdbc import SQLException


def main():
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as profile:
        pipe = f"forecourt{os.getpid()}"
        office = subprocess.Popen([
            "soffice", "--headless", "--norestore", "--nologo", "--nodefault",
            f"-env:UserInstallation=file://{profile}", f"--accept=pipe,name={pipe};urp;",
        ], stdout=sys.stderr)
        try:
            print(json.dumps(work(asked, connect(pipe))))
        finally:
            office.terminate()
            office.wait(30)


def connect(pipe):
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    for _ in range(240):
        try:
            return resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
        except NoConnectException:
            time.sleep(0.25)
    raise SystemExit("LibreOffice did not start within a minute")


def work(asked, context):
    make = context.ServiceManager.createInstanceWithContext
    drivers = make("com.sun.star.sdbc.DriverManager", context)
    login = (setting("user", asked["user"]), setting("password", asked["password"]))
    database = drivers.getConnectionWithInfo(asked["url"], login)
    rows = database.createStatement().executeQuery(asked["query"])
    document = make("com.sun.star.frame.Desktop", context).loadComponentFromURL(
        "private:factory/scalc", "_blank", 0, (setting("Hidden", True),))
    sheet = document.Sheets.getByIndex(0)
    count = fill(sheet, rows)
    total = sheet.getCellByPosition(0, count + 1)
    total.Formula = f"=SUM({asked['sum']}2:{asked['sum']}{count + 1})"
    document.storeToURL(uno.systemPathToFileUrl(asked["csv"]), (setting("FilterName", "Text - txt - csv (StarCalc)"),))
    found = {"rows": count, "total": total.Value, "refused": refusal(database, asked["write"])}
    document.close(True)
    return found


def fill(sheet, rows):
    columns = rows.MetaData
    for at in range(columns.ColumnCount):
        sheet.getCellByPosition(at, 0).String = columns.getColumnName(at + 1)
    line = 0
    while rows.next():
        line += 1
        for at in range(columns.ColumnCount):
            value = rows.getString(at + 1)
            cell = sheet.getCellByPosition(at, line)
            try:
                cell.Value = float(value)
            except ValueError:
                cell.String = value
    return line


def refusal(database, statement):
    try:
        database.createStatement().executeUpdate(statement)
        return None
    except SQLException as error:
        return error.Message


def setting(name, value):
    return PropertyValue(Name=name, Value=value)


main()
