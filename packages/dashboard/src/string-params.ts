/** Validates search parameters: keeps the named ones as strings and ignores all others. */
export function stringParams<K extends string>(...keys: readonly K[]) {
  return (search: Record<string, unknown>): { [key in K]?: string } => {
    const params: { [key in K]?: string } = {}
    for (const key of keys) {
      const value = search[key]
      if (value !== undefined && value !== null) params[key] = String(value)
    }
    return params
  }
}
