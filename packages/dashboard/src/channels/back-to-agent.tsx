import { Link } from '@tanstack/react-router'

interface BackToAgentProps {
  readonly did: string
  /** Undefined while it is loading. */
  readonly name: string | undefined
}

export function BackToAgent({ did, name = 'The agent' }: BackToAgentProps) {
  return (
    <Link
      to="/agents/$did"
      params={{ did }}
      hash="channels"
      className="w-fit max-w-full truncate text-accent underline"
    >
      {name}
    </Link>
  )
}
