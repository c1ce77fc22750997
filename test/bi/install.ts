import { existsSync } from 'node:fs'
import { installPackages } from '../support/install-packages.ts'

const packages = [
  ...['unixodbc', 'odbc-postgresql', 'python3-pyodbc', 'libpostgresql-jdbc-java', 'python3-uno'],
  'python3-openpyxl',
  // promtool and the server itself.
  'prometheus',
  ...['libreoffice-calc-nogui', 'libreoffice-base-nogui', 'libreoffice-sdbc-postgresql'],
]

/** Installs missing BI clients. */
export default function install(): void {
  installPackages([...packages, ...(existsSync('/usr/bin/javac') ? [] : ['default-jdk-headless'])])
}
