import { readFileSync } from 'node:fs'
import { type LogPolicy, PolicyError, parsePolicy } from '@countersign/protocol'
import { type Settings, SettingsError } from '../../base/config.ts'
import { transportOf } from '../../http/outbound/open-sender.ts'
import { Unreachable } from '../../http/outbound/perspective.ts'

/** Checkpoints stay far below the size of a note that verifiers read. */
const MAX_WITNESSES = 16

/**
 * Reads the file that WITNESSES names (C2SP tlog-policy). Its lines `log` are ignored: the log is this one.
 * @returns null if there is none
 * @throws SettingsError
 */
export function readWitnesses({
  witnesses: file,
  requireWitness,
  baseUrl,
}: Pick<Settings, 'witnesses' | 'requireWitness' | 'baseUrl'>): LogPolicy | null {
  if (file === null) return null
  const policy = parseFile(file)
  const count = policy.witnesses.length
  if (count === 0 || count > MAX_WITNESSES)
    throw refusal(`the file must have from 1 to ${MAX_WITNESSES} lines "witness"`)
  if (requireWitness && policy.quorum === null)
    throw refusal('LOG_REQUIRE_WITNESS needs a quorum other than none')
  for (const { name, url } of policy.witnesses) {
    const problem = problemOf(url, baseUrl)
    if (problem !== null) throw refusal(`the URL of the witness ${name} ${problem}`)
  }
  return policy
}

function parseFile(file: string): LogPolicy {
  try {
    return parsePolicy(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof PolicyError) throw refusal(error.message)
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw refusal(`the file cannot be read (${code})`)
  }
}

/** Without TLS, anybody on the way could stop the log by an answer that the witness never gave. */
function problemOf(url: string | null, baseUrl: URL): string | null {
  if (url === null) return 'is missing'
  const parsed = URL.parse(url)
  if (parsed === null) return 'is none'
  if (parsed.search !== '' || parsed.hash !== '') return 'must have no query and no fragment'
  try {
    transportOf(parsed, baseUrl)
    return null
  } catch (error) {
    if (error instanceof Unreachable) return `cannot be used: ${error.message}`
    throw error
  }
}

function refusal(problem: string): SettingsError {
  return new SettingsError([`WITNESSES: ${problem}`])
}
