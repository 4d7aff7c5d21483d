# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of istripectl for bash. Volumes and settings are those that the
# tree of the module has; before there is a volume, the usual ones.

_istripectl_tree=/sys/kernel/config/istripe

# The folders in one of the tree: volumes, the numbers of a volume's legs or of a leg's paths.
_istripectl_folders() {
	local dir

	for dir in "$_istripectl_tree${1:+/$1}"/*/; do
		[ -d "$dir" ] && basename "$dir"
	done
}

# $1: pattern of directories of one kind, $2: what they have when there is none
_istripectl_settings() {
	local dir file name

	for dir in "$_istripectl_tree"/$1; do
		[ -d "$dir" ] || continue
		for file in "$dir"/*; do
			name=${file##*/}
			case $name in
			enable | device | last_error | unfenced) ;;
			*) [ ! -f "$file" ] || echo "$name=" ;;
			esac
		done
		return
	done
	# shellcheck disable=SC2086 # many words
	printf '%s=\n' $2
}

_istripectl_path_settings() {
	echo target=
	_istripectl_settings '*/legs/0/paths/0' \
		'portal lun nic source_address isid weight connections multi chap_user chap_secret
		header_digest data_digest login_timeout ping_interval ping_timeout dscp priority congestion_control send_buffer_bytes receive_buffer_bytes user_timeout'
}

_istripectl_nics() {
	local nic

	for nic in /sys/class/net/*; do
		echo "nic=${nic##*/}"
	done
}

# $1: a setting, behind it its values
_istripectl_values() {
	printf "$1=%s\n" "${@:2}"
}

# The last entry of a list: $1 is the list, $2 the names that may be in it.
_istripectl_list() {
	local last=${1##*,} before=

	[ "$1" = "$last" ] || before=${1%,*},
	case $last in
	nic=*) mapfile -t COMPREPLY < <(compgen -P "$before" -W "$(_istripectl_nics)" -- "$last") ;;
	host_disks=*)
		mapfile -t COMPREPLY < <(compgen -P "$before" \
			-W "$(_istripectl_values host_disks refuse claim)" -- "$last")
		;;
	fence=*)
		mapfile -t COMPREPLY < <(compgen -P "$before" \
			-W "$(_istripectl_values fence auto path)" -- "$last")
		;;
	alua=*)
		mapfile -t COMPREPLY < <(compgen -P "$before" \
			-W "$(_istripectl_values alua on off)" -- "$last")
		;;
	policy=*)
		mapfile -t COMPREPLY < <(compgen -P "$before" \
			-W "$(_istripectl_values policy interleave round-robin queue-depth \
				service-time failover weighted)" -- "$last")
		;;
	*secret=@*) mapfile -t COMPREPLY < <(compgen -P "$before${last%%@*}@" -f -- "${last#*@}") ;;
	*) mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "$last") ;;
	esac
	compopt -o nospace
}

# Bash cuts words at '=' and ':': what was typed up to the cursor is put together
# again, and what bash has already behind it is taken off the replies.
_istripectl_word() {
	local line=${COMP_LINE:0:COMP_POINT}

	word=${line##*[[:space:]]}
}

_istripectl_trim() {
	local typed=$1 kept=${COMP_WORDS[COMP_CWORD]} i

	case $kept in
	'=' | ':') kept= ;;
	esac
	[ "$typed" != "$kept" ] || return
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"${typed%"$kept"}"}
	done
}

# $1: the word, $2: what is before it, $3: further options
_istripectl_create() {
	local word=$1 option=$2

	case $option in
	--leg | -l)
		_istripectl_list "$word" "$(_istripectl_path_settings
			_istripectl_settings '*/legs/0' 'designator policy fence alua')"
		;;
	--path | -p | --all-paths | -a) _istripectl_list "$word" "$(_istripectl_path_settings)" ;;
	--set | -s)
		_istripectl_list "$word" "$(_istripectl_settings '*' \
			'chunk_bytes metadata host_disks queue_depth poll_queues command_timeout_ms
			recovery_timeout_ms')"
		;;
	--metadata | -m) mapfile -t COMPREPLY < <(compgen -W 'md none' -- "$word") ;;
	--chunk | -c) mapfile -t COMPREPLY < <(compgen -W '4K 16K 64K 256K 1M 4M' -- "$word") ;;
	--initiator | -i) ;;
	--wait) mapfile -t COMPREPLY < <(compgen -W '30 5min forever' -- "$word") ;;
	*)
		mapfile -t COMPREPLY < <(compgen -W "--initiator --chunk --metadata --set --all-paths
			--leg --path --no-up --wait --dry-run --help $3" -- "$word")
		;;
	esac
}

# $1: the word, behind it the words before it: istripectl path add|remove NAME LEG LIST|PATH
_istripectl_path() {
	local word=$1

	shift
	case $#:${3:-} in
	2:*) mapfile -t COMPREPLY < <(compgen -W 'add remove' -- "$word") ;;
	3:*) mapfile -t COMPREPLY < <(compgen -W "$(_istripectl_folders)" -- "$word") ;;
	4:*) mapfile -t COMPREPLY < <(compgen -W "$(_istripectl_folders "$4/legs")" -- "$word") ;;
	5:add) _istripectl_list "$word" "$(_istripectl_path_settings)" ;;
	5:remove)
		mapfile -t COMPREPLY < <(compgen -W "$(_istripectl_folders "$4/legs/$5/paths")" \
			-- "$word")
		;;
	esac
}

# Sets words to what is before the word.
_istripectl_before() {
	read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
	[ -z "$word" ] || unset 'words[-1]'
}

_istripectl() {
	local word command=${COMP_WORDS[1]} options=
	local commands='create assemble up down delete path rescan show status list help'
	local -a words

	_istripectl_word
	COMPREPLY=()
	if [ "$COMP_CWORD" -le 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands --version --help" -- "$word")
		return
	fi
	case $command in
	create | assemble)
		[ "$command" = assemble ] || options=--force
		_istripectl_before
		_istripectl_create "$word" "${words[-1]}" "$options"
		_istripectl_trim "$word"
		return
		;;
	help) options=$commands ;;
	path)
		_istripectl_before
		_istripectl_path "$word" "${words[@]}"
		_istripectl_trim "$word"
		return
		;;
	down | delete) options="--force $(_istripectl_folders)" ;;
	show) options="--json --command $(_istripectl_folders)" ;;
	rescan | status | list) options="--json $(_istripectl_folders)" ;;
	up)
		_istripectl_before
		options="--wait $(_istripectl_folders)"
		[ "${words[-1]}" != --wait ] || options='30 5min forever'
		;;
	*) return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}

complete -F _istripectl istripectl
