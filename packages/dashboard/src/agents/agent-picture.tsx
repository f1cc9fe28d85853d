import type { AgentStatus } from '@countersign/protocol'

interface AgentPictureProps {
  readonly src: string
  readonly status: AgentStatus
  /** Tailwind classes for the size. */
  readonly className: string
}

/** An agent's picture. The picture of a revoked agent is grey. */
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
