# Completion of synop's programs in bash, installed under each of their names.
#
# It knows no command and no option: it asks the program's own --help, which takes some milliseconds, and so always fits
# the program that is installed. What it reads there:
#
#     synop-aggregator keys revoke NODE      ...               a command, and what comes behind it
#     Usage: synop-agent --list-groups [--json | --markdown]   options
#       --log-level error|warning|info|debug             an option and its values,
#       -o, --output json|none                           with its letter
#       --ring[=yes|no]                                  which may be left out
#       --send.NAME.url TEXT                             one of any section that a user names
#                              with --markdown as ...    another one

# _synop_read PROGRAM HELP: fills commands ("keys revoke NODE"), options, and values (of an option) of the caller
_synop_read ()
{
  local program=$1 line rest second all=
  local command="^(Usage:)? *$program ([a-z][a-z-]*)( [a-z|]+)?( [A-Z]+)?" usage="^(Usage:)? *$program [[-]"
  local option='^  (-[A-Za-z], )?(--[a-z-]+(\.NAME\.[a-z-]+)?)(( |\[=)([^] ,]+))?'

  while IFS= read -r line; do
    if [[ $line =~ $command ]]; then
      second=${BASH_REMATCH[3]# }
      for second in ${second//|/ } ${second:+-}; do
        [[ $second = - ]] || commands+=("${BASH_REMATCH[2]} $second${BASH_REMATCH[4]}")
      done
      [[ $second ]] || commands+=("${BASH_REMATCH[2]}${BASH_REMATCH[4]}")
      continue
    fi
    if [[ $line =~ $option ]]; then
      values[${BASH_REMATCH[2]}]=${BASH_REMATCH[6]}
      if [[ ${BASH_REMATCH[1]} ]]; then
        options+=("${BASH_REMATCH[1]%, }")
        values[${BASH_REMATCH[1]%, }]=${BASH_REMATCH[6]}
      fi
    elif ! [[ $line =~ $usage || $line = '                '* ]]; then
      continue
    fi
    rest=$line
    while [[ $rest =~ [^a-z](--[a-z][a-z-]*(\.NAME\.[a-z-]+)?)(.*) ]]; do
      [[ $all = *" ${BASH_REMATCH[1]} "* ]] || options+=("${BASH_REMATCH[1]}")
      all+=" ${BASH_REMATCH[1]} "
      rest=${BASH_REMATCH[3]}
    done
  done <<<"$2"
}

# The names that can stand for NODE, JOBID, ID and GROUP, as far as this user may see them
_synop_names ()
{
  case $2 in
  NODE) timeout 2 "$1" keys list ;;
  JOBID | ID) timeout 2 "$1" jobs --from -30d ;;
  GROUP) timeout 2 "$1" query --list | sed 's/[. ].*//' | sort -u ;;
  esac 2>/dev/null </dev/null | awk '$1 !~ /^[A-Z]+$/ { print $1 }'
}

_synop ()
{
  local at=$COMP_CWORD current=${COMP_WORDS[COMP_CWORD]} before= equals= value= path=() words=() word known
  local -a commands=() options=()
  local -A values=()
  local tool=${COMP_WORDS[0]} program=${COMP_WORDS[0]##*/}
  program=synop-${program#synop-} # as --help has it
  COMPREPLY=()

  [[ $current = = ]] && current= at=$((at + 1)) # bash parts words at "=": "--output" "=" "js"
  before=${COMP_WORDS[at - 1]}
  [[ $before = = ]] && before=${COMP_WORDS[at - 2]} equals=yes
  _synop_read "$program" "$("$tool" --help 2>/dev/null </dev/null)"

  # The command: one or two words that --help knows. Nothing else is ever handed to the program.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word = -- ]] && return
    known=${path[*]:+${path[*]} }$word
    if [[ $word =~ ^[a-z][a-z-]*$ ]] && printf '%s\n' "${commands[@]}" | grep -q "^$known\( \|\$\)"; then
      path+=("$word")
    fi
  done
  if ((${#path[@]})); then
    options=() values=()
    known=("${commands[@]}")
    _synop_read "$program" "$("$tool" "${path[@]}" --help 2>/dev/null </dev/null)"
    commands=("${known[@]}")
  fi

  # What a user named, "--send.central.url", is what --help calls "--send.NAME.url".
  [[ $before = --*.*.* ]] && before=${before%%.*}.NAME.${before##*.}
  if [[ $current = --*.*.* ]]; then
    word=${current#*.}
    options=("${options[@]/.NAME./.${word%%.*}.}")
  else
    options=("${options[@]/.NAME.*/.}")
  fi

  [[ $before = -?* ]] && value=${values[$before]-}
  if [[ $value = *'|'* && ($equals || $value != 'yes|no') ]]; then
    words=(${value//|/ })
  elif [[ $before = --node && ${path[0]-} = @(tail|replay|export|query|top) ]]; then
    words=($(_synop_names "$tool" NODE))
  elif [[ $before = --group && ${path[0]-} = @(tail|replay|export) ]]; then
    words=($(_synop_names "$tool" GROUP))
  elif [[ $before = --type && ${path[0]-} = @(tail|replay) ]]; then
    words=(node cluster event job)
  elif [[ $before = --job && ${path[0]-} = query ]]; then
    words=($(_synop_names "$tool" JOBID))
  elif [[ $current = -* ]]; then
    words=("${options[@]}")
  elif [[ ! $equals && (! $value || $value = 'yes|no') ]]; then
    for word in "${commands[@]}"; do
      known=${word#"${path[*]}"}
      known=${known# }
      ((${#path[@]} == 0)) || [[ $word = "${path[*]} "* ]] || continue
      case ${known%% *} in
      NODE | JOBID | ID) words+=($(_synop_names "$tool" "${known%% *}")) ;;
      [a-z]*) words+=("${known%% *}") ;;
      esac
    done
  fi
  COMPREPLY=($(compgen -W "${words[*]}" -- "$current"))
  [[ ${COMPREPLY-} = *. ]] && compopt -o nospace 2>/dev/null
  return 0
}

complete -o default -F _synop synop-agent synop-aggregator agent aggregator
