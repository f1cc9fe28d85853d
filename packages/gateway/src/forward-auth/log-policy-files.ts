import { readFileSync } from 'node:fs'

/**
 * Replaces `requireLogged.policyFile`, which only the configuration file of this command has, by the text of that file, in a policy
 * and its routes. Everything else is left to the policy's reader.
 * @param mistakes gets a message for each file that cannot be read
 */
export function withLogPolicies(policy: unknown, mistakes: string[]): unknown {
  if (!isRecord(policy)) return policy
  const { routes } = policy
  return {
    ...(withLogPolicy(policy, 'policy', mistakes) as object),
    ...(Array.isArray(routes) && {
      routes: routes.map((each, i) => withLogPolicy(each, `policy.routes[${i}]`, mistakes)),
    }),
  }
}

function withLogPolicy(rules: unknown, place: string, mistakes: string[]): unknown {
  if (!isRecord(rules) || !isRecord(rules.requireLogged)) return rules
  const { policyFile, ...requireLogged } = rules.requireLogged
  if (policyFile === undefined) return rules
  const field = `${place}.requireLogged.policyFile`
  if (typeof policyFile !== 'string') mistakes.push(`${field} must be the name of a file`)
  else if ('policy' in requireLogged) mistakes.push(`${field} cannot be combined with \`policy\``)
  else {
    try {
      const policy = readFileSync(policyFile, 'utf8')
      return { ...rules, requireLogged: { ...requireLogged, policy } }
    } catch (error) {
      mistakes.push(`${field}: ${(error as Error).message}`)
    }
  }
  return { ...rules, requireLogged: null }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
