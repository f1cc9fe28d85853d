import { z } from 'zod'
import { certificateResult, certificateSchema } from '../certificate-result.ts'
import { certificateRows } from '../certificate-rows.ts'
import { assertReference } from '../challenge.ts'
import { agentReference, argumentsOf, defineTool, READS } from '../define-tool.ts'
import { fields } from '../fields.ts'

/** A lookup does not tell what kind of owner an agent has. */
const { ownerKind: _kind, ownerChangedAt: _since, ...lookupSchema } = certificateSchema

/** Contract 4.1, 4.2. */
export const lookupAgent = defineTool({
  name: 'lookup_agent',
  title: 'Look up an agent',
  description: `The certificate status of another agent, and whether its owner's identity is verified. Use it when somebody gives you a DID or a public key.
It does not prove that a caller is that agent: anyone can send a DID. For that, use verify_agent. Fails with NOT_FOUND if there is no such agent. Changes nothing.`,
  annotations: READS,
  input: argumentsOf({ agent: agentReference() }),
  output: z.strictObject(lookupSchema),
  async run({ agent }, host) {
    assertReference(agent)
    const registry = host.registry()
    const lookup = await registry.lookup(agent)
    const { id, status } = lookup.certificate
    const result = certificateResult(host.service, lookup, {})
    const { ownerKind: _none, ownerChangedAt: _never, ...data } = result
    return {
      data,
      text: `${id} is ${status}.\n${fields(certificateRows(host.service, lookup, {}))}`,
    }
  },
})
