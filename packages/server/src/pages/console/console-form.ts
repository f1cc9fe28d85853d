import type { PolicyInput } from '@countersign/gateway/internal'
import { formatJson } from './format-literal.ts'

/** What is entered on the page, as typed. */
export interface ConsoleForm {
  /** JSON: a policy, or the file of `countersign-gateway`. */
  readonly policy: string
  /** The origins of the site, separated by spaces. */
  readonly origin: string
  /** A path or URL, after a method if it is for that one alone. */
  readonly request: string
  /** An agent that signs the request too. Empty: none. */
  readonly agent: string
  /** The headers of a captured request. Empty: none. */
  readonly headers: string
  /** Not empty: the service has become unreachable. */
  readonly away: string
  /** The program or proxy whose configuration is shown first. */
  readonly target: string
}

export interface Preset {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly policy: PolicyInput
}

const PRESETS: readonly [Preset, ...Preset[]] = [
  {
    name: 'signed',
    title: 'Signed only',
    description: 'Admit agents that sign. Refuse everyone else.',
    policy: { requireProof: true },
  },
  {
    name: 'reads',
    title: 'Open reads, signed writes',
    description: 'Anyone may GET. Every other request must be signed.',
    policy: {
      requireProof: true,
      routes: [{ path: '/*', methods: ['GET'], levels: { none: 'allow' } }],
    },
  },
  {
    name: 'watch',
    title: 'Watch only',
    description: 'Log decisions, refuse nothing (shadow mode).',
    policy: { mode: 'shadow', requireProof: true },
  },
]

/** The form before anybody has changed it. */
export const DEFAULT_FORM: ConsoleForm = {
  policy: formatJson(PRESETS[0].policy),
  origin: 'https://shop.example',
  request: '/',
  agent: '',
  headers: '',
  away: '',
  target: 'express',
}

/** The presets, and whether each is the policy of the form. */
export function presetsFor({ policy }: ConsoleForm): readonly (Preset & { isCurrent: boolean })[] {
  return PRESETS.map((each) => ({ ...each, isCurrent: formatJson(each.policy) === policy }))
}

/**
 * Reads the form that was sent. A preset or a field that was chosen with its button changes the policy.
 * @param field the value of a field by its name; empty if it was not sent
 */
export function readConsoleForm(field: (name: string) => string): ConsoleForm {
  const preset = PRESETS.find(({ name }) => name === field('preset'))
  const text = (name: keyof ConsoleForm) => field(name).trim()
  return {
    policy: preset ? formatJson(preset.policy) : field('policy').replaceAll('\r\n', '\n'),
    origin: text('origin'),
    request: text('request') || DEFAULT_FORM.request,
    agent: text('agent'),
    headers: field('headers'),
    away: text('away'),
    target: text('target') || DEFAULT_FORM.target,
  }
}
