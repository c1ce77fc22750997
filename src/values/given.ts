/** An object without the properties that are null or undefined, for one whose properties may be left out but not be undefined. */
export function given<Values extends object>(
  values: Values,
): { [Key in keyof Values]?: NonNullable<Values[Key]> } {
  const found = Object.entries(values).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(found) as { [Key in keyof Values]?: NonNullable<Values[Key]> }
}
