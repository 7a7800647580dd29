# Bash completion of `tenon`: commands, options, names of ops and namespaces, files.

_tenon_names() {
  # Options that change what is found go along.
  local -a places=()
  local i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == --plugin-path ]]; then places+=(--plugin-path "${COMP_WORDS[i + 1]}"); fi
  done
  "${COMP_WORDS[0]}" "${places[@]}" ops --names 2>/dev/null
}

_tenon() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --plugin-path | --threads | --trust) ((++i)) ;;
      -*) ;;
      *) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  case $before in
    --plugin-path | --dir) compopt -o dirnames; return ;;
    --data | --evaluate | --plot | --output | --weights | --baseline | --config) compopt -o default; return ;;
    --op | --clock) mapfile -t COMPREPLY < <(compgen -W "$(_tenon_names)" -- "$word"); return ;;
    --threads | --epochs | --steps | --rounds | --least-gain | --seed | --first | --timeout | --memory | --check) return ;;
  esac

  local words=''
  if [[ -z $command ]]; then
    words='run predict plan tune schema plugins ops modules overridable ignored signature show types coverage ambiguities why check compat lock new wrappers version'
    words+=' --help --version --plugin-path --trust --no-autoload --threads'
  elif [[ $word == -* ]]; then
    words='--help --plugin-path --trust --no-autoload --threads'
    case $command in
      run) words+=' --evaluate --plot --epochs --seed --resume --frozen --watch --detect-anomaly --quiet --json' ;;
      predict) words+=' --output --weights --frozen' ;;
      plan) words+=' --no-shapes --providers --frozen --json' ;;
      tune) words+=' --write --steps --rounds --least-gain --clock --quiet --json' ;;
      lock) words+=' --output --check' ;;
      overridable) words+=' --first --json' ;;
      new) words+=' --c --dir --config --data' ;;
      wrappers) words+=' --output' ;;
      coverage) words+=' --baseline --config --json' ;;
      ambiguities) words+=' --config --json' ;;
      why) words+=' --config --json' ;;
      check) words+=' --op --check --timeout --memory --seed --in-process --json' ;;
      *) words+=' --json' ;;
    esac
  else
    case $command in
      run | plan | tune | schema | predict | lock) compopt -o default; return ;;
      check | compat)
        compopt -o default
        words=$("${COMP_WORDS[0]}" plugins 2>/dev/null | sed '1d;/^$/q;s/ .*//')
        ;;
      signature | show | why) words=$(_tenon_names) ;;
      ops | overridable) words=$(_tenon_names | sed -n 's/\.[^.]*$//p' | sort -u) ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _tenon tenon
