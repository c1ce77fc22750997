/** What the sandbox signs its links with: whoever has it can open them. */
const signature = /[?&]signature=(\w{4})/

/** Takes stdout and stderr. Throws when a command line shows a signed link that it was not asked for; every command line of the suite goes through here. */
export function rejectSignedLinks(args: readonly string[], texts: readonly string[]): void {
  const leak = (isAskedFor(args) ? texts.slice(1) : texts)
    .map((text) => signature.exec(text))
    .find((match) => match !== null)
  if (leak !== undefined)
    throw new Error(
      `forecourt ${args.join(' ')} shows a signed link: ${leak.input.slice(Math.max(0, leak.index - 200), leak.index)}`,
    )
}

/** `links show` prints a link, and `api` an answer as it came: that is what they are for. Their logs are not. */
function isAskedFor(args: readonly string[]): boolean {
  return args.includes('api') || (args.includes('links') && args.includes('show'))
}
