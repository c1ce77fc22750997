/** Adds every name that is asked for to `names`. */
export function recorded<Values extends object>(values: Values, names: Set<string>): Values {
  return new Proxy(values, {
    get: (all, name) => {
      if (typeof name === 'string') names.add(name)
      return Reflect.get(all, name) as unknown
    },
  })
}
