const font = { size: 13, width: 7.8, line: 19 }
const margin = 20
const bar = 34

/** What a terminal shows after a command, as SVG text. The background is part of it: readable on a light and on a dark page. */
export function terminalPicture(command: string, output: readonly string[]): string {
  const lines = [`$ ${command}`, ...output]
  const columns = Math.max(...lines.map((line) => line.length))
  const width = Math.ceil(columns * font.width) + 2 * margin
  const height = bar + lines.length * font.line + margin
  const text = lines.map((line, index) => {
    const y = bar + (index + 1) * font.line - 4
    return line.trim() === ''
      ? []
      : [`<text x="${margin}" y="${y}"${colour(line, index)}>${escaped(line)}</text>`]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>What "${escaped(command)}" prints</title>`,
    `<rect width="${width}" height="${height}" rx="10" fill="#0d1117" stroke="#30363d"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, index) => `<circle cx="${margin + 6 + index * 20}" cy="18" r="6" fill="${fill}"/>`,
    ),
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace" font-size="${font.size}" fill="#e6edf3" style="white-space: pre" xml:space="preserve">`,
    ...text.flat(),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/** The command is green, SQL is grey. */
function colour(line: string, index: number): string {
  if (index === 0) return ' fill="#7ee787"'
  return line.startsWith('    ') ? ' fill="#8b949e"' : ''
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
