import type { AgentStatus } from '@countersign/protocol'

interface AgentPictureProps {
  readonly src: string
  readonly status: AgentStatus
  /** Classes for its size. */
  readonly className: string
}

/** An agent's picture beside its name. A revoked agent has lost its colours. */
export function AgentPicture({ src, status, className }: AgentPictureProps) {
  return (
    <img
      src={src}
      alt=""
      width="96"
      height="96"
      className={`shrink-0 bg-sunken object-cover ${status === 'revoked' ? 'grayscale' : ''} ${className}`}
    />
  )
}
