import type { ApprovalState } from '@countersign/protocol'

export const STATE_NAMES: Readonly<Record<ApprovalState, string>> = {
  pending: 'Pending',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  cancelled: 'Cancelled',
}
