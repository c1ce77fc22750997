import { InvalidArgumentError } from 'commander'

/** For options of which a second one would silently take the place of the first. */
export function singleValue(value: string, before: string | undefined): string {
  if (before !== undefined && before !== value)
    throw new InvalidArgumentError(`It was "${before}" already: it takes one value.`)
  return value
}
