import { installPackages } from '../support/install-packages.ts'

/** Installs Chromium with a font, so that text has its real size. */
export default function install(): void {
  installPackages(['chromium', 'fonts-dejavu-core'])
}
