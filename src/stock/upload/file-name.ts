// Controls, and marks that change the direction of a text: `report\u202Evsc.exe` would be shown as another name.
const hidden = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** A file name as it is stored and shown: without folders, controls and marks of direction. */
export function safeFileName(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1)!
  const text = last.replaceAll(hidden, '').trim()
  return text === '' || /^\.+$/.test(text) ? 'list' : [...text].slice(-100).join('')
}
