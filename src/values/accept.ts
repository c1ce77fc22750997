/** Whether an Accept header prefers JSON to HTML (RFC 9110 §12.5.1, as far as two types need it). */
export function prefersJson(accept: string | undefined): boolean {
  const wishes = new Map(
    (accept ?? '').split(',').map((part) => {
      const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      const quality = parameters.find((text) => text.startsWith('q='))?.slice(2)
      return [type, quality === undefined ? 1 : Number(quality) || 0] as const
    }),
  )
  const wish = (...types: string[]) => {
    const named = types.find((type) => wishes.has(type))
    return named === undefined ? 0 : wishes.get(named)!
  }
  return wish('application/json', 'application/*', '*/*') > wish('text/html', 'text/*', '*/*')
}
