import { printable } from '@countersign/sdk/tool-support'
import type { Invocation } from '../invocation.ts'
import type { CaseFailure, CheckResult } from './check.ts'
import type { ConformanceReport } from './conformance.ts'

/** How many failed cases of a check are printed. --json has all. */
const MAX_SHOWN = 5
const INDENT = ' '.repeat(14)

/** The report as a table for people. */
export function reportText(report: ConformanceReport, cli: Invocation): string {
  const { url, shortName, idHeader, passed, failed, skipped, conforms, checks, left } = report
  const total = `${passed} passed, ${failed} failed, ${skipped} skipped.`
  return [
    cli.heading(`Conformance of ${url} (short name ${shortName}, header ${idHeader})`),
    '',
    ...checks.flatMap((each) => linesOf(each, cli)),
    '',
    cli.verdict(
      conforms,
      `${total} ${conforms ? 'No promise is broken.' : 'The deployment does not conform.'}`,
    ),
    ...(left.length === 0
      ? []
      : [
          '',
          'Not revoked, because the deployment has no way to renounce. Revoke them on the dashboard:',
        ]),
    ...left.map((did) => `  ${printable(did)}`),
  ].join('\n')
}

function linesOf(
  { section, check, outcome, cases, failures, reason }: CheckResult,
  cli: Invocation,
) {
  const mark = outcome === 'fail' ? cli.verdict(false, 'FAIL') : outcome
  const count = cases > 1 ? ` (${cases} cases)` : ''
  const line = `  ${section.padEnd(5)}  ${mark}  ${check}${count}`
  const more = failures.length - MAX_SHOWN
  return [
    line,
    ...(reason === null ? [] : [`${INDENT}skipped: ${printable(reason)}`]),
    ...failures.slice(0, MAX_SHOWN).map((each) => `${INDENT}${printable(failureText(each))}`),
    ...(more > 0 ? [`${INDENT}and ${more} more; --json lists all`] : []),
  ]
}

function failureText({ case: name, where, expected, actual }: CaseFailure): string {
  return `${name === '' ? '' : `${name}: `}${where}: expected ${expected}, got ${actual}`
}
