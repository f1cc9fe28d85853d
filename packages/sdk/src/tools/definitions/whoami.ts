import { encodeBase64, RECOVERY_REASONS } from '@countersign/protocol'
import { z } from 'zod'
import { certificateResult, certificateSchema } from '../certificate-result.ts'
import { certificateRows, ownCertificate, ownerDetails, recoveryRows } from '../certificate-rows.ts'
import { argumentsOf, defineTool, READS, type ToolDelegation } from '../define-tool.ts'
import { type Field, fields } from '../fields.ts'

/** The certificate of the agent's own key (contract 4.2). */
export const whoami = defineTool({
  name: 'whoami',
  title: 'Who am I',
  description: `Your own DID, public key and certificate, as the service currently returns them. Use it before you identify yourself to others, and after a claim whose outcome is unknown.
Fails with NO_KEY or NOT_FOUND if you have no certificate. Changes nothing and never returns the private key.`,
  annotations: READS,
  input: argumentsOf({}),
  output: z.strictObject({
    ...certificateSchema,
    publicKey: z.string().describe('Of your own key, also if you are a delegate'),
    keySequence: z.number().describe('How many keys this DID has had, with this one'),
    keyChangedAt: z.string(),
    recovery: z
      .strictObject({
        reason: z.enum(RECOVERY_REASONS),
        startedAt: z.string(),
        redeemedAt: z.string().nullable(),
        effectiveAt: z.string().nullable().describe('When another key replaces yours'),
        keyThumbprint: z.string().nullable(),
      })
      .nullable()
      .describe(
        'A recovery by your owner that will replace your key. Tell the person you work for',
      ),
    delegation: z
      .strictObject({
        keyThumbprint: z.string(),
        expiresAt: z.string(),
        origins: z.array(z.string()),
        methods: z.array(z.string()).nullable().describe('Null: every method'),
        paths: z.array(z.string()).nullable().describe('Null: every path'),
        mcp: z.array(z.string()).nullable().describe('Null: not limited to calls of MCP'),
      })
      .nullable()
      .describe(
        'What the agent has delegated to your key; then the certificate is that of the agent. Null: you are the agent',
      ),
    service: z.string(),
  }),
  async run(_args, host) {
    const publicKey = encodeBase64((await host.signer()).publicKey)
    const { delegation } = host
    const lookup =
      delegation === null
        ? await ownCertificate(host.registry(), publicKey, host.command)
        : await host.registry().lookup(delegation.did)
    const { id, status } = lookup.certificate
    const { keySequence, keyChangedAt, recovery } = await host.registry().keys(id)
    const details = await ownerDetails(host.registry(), id)
    const rows = [
      ...certificateRows(host.service, lookup, details),
      ['Public key', publicKey] as const,
      ...delegationRows(delegation),
      ...recoveryRows(recovery, `${host.command} veto ${id}`),
    ]
    const key = { publicKey, keySequence, keyChangedAt, recovery: recovery && { ...recovery } }
    const shown = delegation && shownDelegation(delegation)
    const you = delegation === null ? 'You are' : 'You are a delegate of'
    return {
      data: {
        ...certificateResult(host.service, lookup, details),
        ...key,
        delegation: shown,
        service: host.service.origin,
      },
      text: `${you} ${id} (${status}).\n${fields(rows)}`,
    }
  },
})

function shownDelegation({ hop: { keyid, expiresAt, limits } }: ToolDelegation) {
  const { origins, methods, paths, mcp } = limits
  return {
    keyThumbprint: keyid,
    expiresAt: new Date(expiresAt).toISOString(),
    origins: [...origins],
    methods: methods && [...methods],
    paths: paths && [...paths],
    mcp: mcp && [...mcp],
  }
}

function delegationRows(delegation: ToolDelegation | null): Field[] {
  if (delegation === null) return []
  const { origins, methods, paths, mcp, expiresAt } = shownDelegation(delegation)
  return [
    ['Sites', origins],
    ['Methods', methods ?? 'all'],
    ['Paths', paths ?? 'all'],
    ...(mcp === null ? [] : [['MCP calls', mcp] as const]),
    ['Delegated until', expiresAt],
  ]
}
