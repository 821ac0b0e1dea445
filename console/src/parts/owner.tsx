import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { OperatorToken } from '../../../src/wire/tokens.ts'
import { type ListPage, withQuery } from '../api.ts'
import { tokensPath } from '../tokens.ts'

const namesPath = withQuery(tokensPath, { limit: 100 })

/** For operators: the names of tokens by their ids, of the first page. */
export function useTokenNames(): ReadonlyMap<string, string> {
  const { data } = useQuery<ListPage<OperatorToken>>({ queryKey: [namesPath], staleTime: 60_000 })
  return useMemo(() => new Map(data?.data.map(({ id, name }) => [id, name])), [data])
}

/** Who a video belongs to: a project, or a token without one, by its name. */
export function Owner({ owner }: { owner: string }) {
  const names = useTokenNames()
  // A token of the configuration owns videos by its name.
  const id = [owner, `config:${owner}`].find((one) => names.has(one))
  if (id === undefined) return <bdi>{owner}</bdi>
  return (
    <Link to="/tokens/$id" params={{ id }}>
      <bdi>{names.get(id)}</bdi>
    </Link>
  )
}

/** An account at a provider, for operators. */
export function AccountLink({ name }: { name: string }) {
  return (
    <Link to="/providers/$name" params={{ name }}>
      <bdi>{name}</bdi>
    </Link>
  )
}
