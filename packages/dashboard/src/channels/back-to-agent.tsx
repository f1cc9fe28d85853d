import { Link } from '@tanstack/react-router'

interface BackToAgentProps {
  readonly did: string
  /** Undefined while it is loading. */
  readonly name: string | undefined
}

export function BackToAgent({ did, name = 'Agent' }: BackToAgentProps) {
  return (
    <Link
      to="/agents/$did/channels"
      params={{ did }}
      className="w-fit max-w-full truncate text-accent underline"
    >
      {name}
    </Link>
  )
}
