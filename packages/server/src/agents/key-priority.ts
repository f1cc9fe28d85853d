import type { AgentStatus } from '@countersign/protocol'

/**
 * Several agents may have one key, under different labels. Of these, a lookup by the key answers for the one whose
 * status comes first here, and among equals for the oldest claim (docs/contract-notes.md).
 */
export const KEY_PRIORITY: readonly AgentStatus[] = ['active', 'suspended', 'revoked']
